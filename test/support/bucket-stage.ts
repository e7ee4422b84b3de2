import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ObjectStore } from '#object-store/object-store.ts'
import type { S3Options } from '#object-store/s3/s3-options.ts'
import { openS3Store, type S3Patience } from '#object-store/s3/s3-store.ts'
import { usualLogin, type S3Login } from './s3-server.ts'

/** Short enough for tests, long enough for a busy machine. */
const patience: S3Patience = { connectMs: 5_000, silenceMs: 5_000, budgetMs: 60_000 }

/** Files of credentials, and stores that use them. */
export class BucketStage {
  readonly folder: string
  readonly #stores: ObjectStore[] = []

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(login = usualLogin): Promise<BucketStage> {
    const stage = new BucketStage(await mkdtemp(join(tmpdir(), 'regent-bucket-')))
    await stage.logIn(login)
    return stage
  }

  /** From the next request on. */
  async logIn({ accessKeyId, secretAccessKey }: S3Login): Promise<void> {
    await writeFile(join(this.folder, 'accessKeyId'), `${accessKeyId}\n`)
    await writeFile(join(this.folder, 'secretAccessKey'), secretAccessKey)
  }

  /** A store below prefix `p` of a bucket. */
  async open(bucket: string, options: S3Options, change: Partial<S3Patience> = {}): Promise<ObjectStore> {
    const address = { kind: 's3', shown: `s3://${bucket}/p`, bucket, prefix: 'p' } as const
    const credentials = { kind: 'folder', folder: this.folder } as const
    const store = await openS3Store(address, { credentials, ...options }, { ...patience, ...change })
    this.#stores.push(store)
    return store
  }

  async end(): Promise<void> {
    for (const store of this.#stores) store.close()
    await rm(this.folder, { recursive: true, force: true })
  }
}
