import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import type { Archive } from '#backup/archive/history.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import { runRegent } from '../../support/cluster.ts'
import { S3Server, usualLogin } from '../../support/s3-server.ts'
import { findVersitygw } from '../../support/versitygw.ts'

/** Of a cluster that was restored. */
export const restoredName = 'again'

/** Where backups of a campaign lie: a bucket where an S3 server can be had, else a folder. */
export class Stage {
  readonly folder: string
  readonly keyFile: string
  readonly s3: S3Server | undefined
  /** Where a restore goes on: who interrupts the campaign interrupts that as well. */
  readonly restores = new Set<string>()

  private constructor(folder: string, s3: S3Server | undefined) {
    this.folder = folder
    this.keyFile = join(folder, 'key')
    this.s3 = s3
  }

  static async make(): Promise<Stage> {
    const versitygw = await findVersitygw()
    const folder = await mkdtemp(join(tmpdir(), 'regent-restores-'))
    const s3 = versitygw === undefined ? undefined : await S3Server.start(versitygw)
    const stage = new Stage(folder, s3)
    await writeFile(stage.keyFile, randomBytes(32).toString('hex'))
    await mkdir(join(folder, 'store'))
    for (const name of ['accessKeyId', 'secretAccessKey'] as const)
      await writeFile(join(folder, name), usualLogin[name])
    await s3?.makeBucket('backups')
    return stage
  }

  get store(): BackupStore {
    const encryptionKeyFile = this.keyFile
    if (this.s3 === undefined) return { address: join(this.folder, 'store'), encryptionKeyFile }
    return {
      address: 's3://backups/prod',
      endpoint: this.s3.endpoint,
      pathStyle: true,
      credentialsFolder: this.folder,
      encryptionKeyFile,
    }
  }

  /** The same for `regent restore`. */
  get words(): readonly string[] {
    const { address, endpoint } = this.store
    const from = ['--from', address, '--key-file', this.keyFile]
    return endpoint === undefined
      ? from
      : [...from, '--endpoint', endpoint, '--path-style', '--credentials', this.folder]
  }

  async archive(cluster: string): Promise<Archive> {
    const store = await openBackupStore(this.store)
    try {
      return await readArchive(store, cluster)
    } finally {
      store.close()
    }
  }

  async dropRestore(home: string): Promise<void> {
    await runRegent(home, ['local', 'down', restoredName, '--purge'], { deadlineMs: 60_000 })
    await rm(home, { recursive: true, force: true })
    this.restores.delete(home)
  }

  async remove(): Promise<void> {
    await Promise.all([...this.restores].map((home) => this.dropRestore(home)))
    await this.s3?.end()
    await rm(this.folder, { recursive: true, force: true })
  }
}
