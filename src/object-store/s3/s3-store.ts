import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type MultipartUpload,
  type _Object as ListedObject,
} from '@aws-sdk/client-s3'
import { realWorld } from '#common/ports/real-world.ts'
import { requireRange } from '../byte-range.ts'
import { missingObject } from '../missing-object.ts'
import { complaintAboutKey, requireKey, requireKeyBeginning } from '../object-key.ts'
import type { ByteRange, Interruptible, ObjectStore, PutOptions, StoredObject } from '../object-store.ts'
import { s3Client, type S3Timeouts } from './s3-client.ts'
import { download } from './s3-download.ts'
import { S3Deletion } from './s3-deletion.ts'
import { requireAnswer } from './s3-failure.ts'
import { requireS3Options, type S3Options } from './s3-options.ts'
import { Expected, S3Requests } from './s3-requests.ts'
import { upload, uploadIfAbsent, type Place } from './s3-upload.ts'
import { SourceFailure } from '../source-failure.ts'
import type { BucketAddress } from '../store-address.ts'
import type { Sayable } from '#common/sentence/sentence.ts'

export interface S3Patience extends S3Timeouts {
  /** How long a request is tried again while the store is away. */
  readonly budgetMs: number
}

export const usualPatience: S3Patience = { connectMs: 5_000, silenceMs: 30_000, budgetMs: 120_000 }

/** @throws RegentError `REGENT_BAD_REQUEST`, and `REGENT_BACKUP_STORE` where the file of authorities cannot be read */
export async function openS3Store(
  address: BucketAddress,
  options: S3Options = {},
  patience = usualPatience,
): Promise<ObjectStore> {
  const client = await s3Client(requireS3Options(options), patience)
  const { shown, bucket, prefix } = address
  const requests = new S3Requests({ client, address: shown, world: realWorld, budgetMs: patience.budgetMs })
  return new S3Store(requests, bucket, prefix === '' ? '' : `${prefix}/`)
}

/** A store in a bucket of S3, below a prefix. */
class S3Store implements ObjectStore {
  readonly #requests: S3Requests
  readonly #bucket: string
  /** '' or with a `/` at its end. */
  readonly #prefix: string
  readonly #deletion: S3Deletion
  /** The server was seen to refuse an object that is there. */
  #knowsConditions = false

  constructor(requests: S3Requests, bucket: string, prefix: string) {
    this.#requests = requests
    this.#bucket = bucket
    this.#prefix = prefix
    this.#deletion = new S3Deletion(requests, {
      placeOf: (key) => this.#place(key),
      keyIn: (listed) => this.#keyIn(listed),
    })
  }

  get address(): string {
    return this.#requests.address
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<number> {
    const what = `object ${requireKey(key)} was not stored`
    try {
      return await upload(this.#requests, this.#place(key), content, { ...options, what })
    } catch (error) {
      throw error instanceof SourceFailure ? error.cause : error
    }
  }

  async putIfAbsent(key: string, content: Uint8Array, options: Interruptible = {}): Promise<boolean> {
    const what = `object ${requireKey(key)} was not stored`
    const task = { ...options, what }
    if (!(await uploadIfAbsent(this.#requests, this.#place(key), content, task))) return false
    // Some servers do not look at If-None-Match: there each of many writers would hear true. A single repetition tells.
    if (!this.#knowsConditions && (await uploadIfAbsent(this.#requests, this.#place(key), content, task)))
      throw await this.#requests.error(what, Object.assign(new Error(), { name: 'ConditionIgnored' }))
    this.#knowsConditions = true
    return true
  }

  async *get(key: string, range?: ByteRange, { signal }: Interruptible = {}): AsyncIterable<Uint8Array> {
    const what = `object ${requireKey(key)} cannot be read`
    try {
      yield* download({ requests: this.#requests, place: this.#place(key), ...requireRange(range), what, signal })
    } catch (error) {
      throw error instanceof Expected ? missingObject(this.address, key) : error
    }
  }

  async *list(prefix: string, { signal }: Interruptible = {}): AsyncIterable<StoredObject> {
    for await (const { Key, Size = 0, LastModified } of this.#objects(requireKeyBeginning(prefix), signal)) {
      const key = this.#keyIn(Key)
      if (key !== undefined) yield { key, bytes: Size, modifiedMs: LastModified?.getTime() ?? 0 }
    }
  }

  async delete(keys: readonly string[], options: Interruptible = {}): Promise<readonly string[]> {
    keys.forEach(requireKey)
    return this.#deletion.delete(keys, options)
  }

  async dropUnfinished(prefix: string, beforeMs: number, { signal }: Interruptible = {}): Promise<number> {
    const what = `unfinished uploads of objects ${requireKeyBeginning(prefix)}… were not given up`
    let dropped = 0
    for await (const { Key, UploadId, Initiated } of this.#uploads(prefix, what, signal)) {
      const key = this.#keyIn(Key)
      if (key === undefined || Initiated === undefined || Initiated.getTime() >= beforeMs) continue
      await this.#requests
        .send({ what, signal, expected: ['NoSuchUpload'] }, (client, through) =>
          client.send(
            new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}`, UploadId }),
            through,
          ),
        )
        .catch(ignoreExpected)
      dropped += 1
    }
    return dropped
  }

  close(): void {
    this.#requests.client.destroy()
  }

  #place(key: string): Place {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` }
  }

  /** Names of others may hold what XML cannot. */
  #below(prefix: string) {
    return { Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}`, EncodingType: 'url' } as const
  }

  /** Undefined for what others put under no key. Some servers encode the `/` of a listed name. */
  #keyIn(listed: string | undefined): string | undefined {
    const whole = listed?.replaceAll(/%2f/gi, '/')
    if (whole?.startsWith(this.#prefix) !== true) return undefined
    const key = whole.slice(this.#prefix.length)
    return complaintAboutKey(key) === undefined ? key : undefined
  }

  async *#objects(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<ListedObject> {
    const what = `objects ${prefix}… cannot be listed`
    let ContinuationToken: string | undefined
    do {
      const page = await this.#requests.send({ what, signal }, async (client, through) =>
        requireAnswer(
          await client.send(new ListObjectsV2Command({ ...this.#below(prefix), ContinuationToken }), through),
        ),
      )
      yield* page.Contents ?? []
      const { NextContinuationToken = '', IsTruncated = false } = page
      if (leadsNowhere(IsTruncated, NextContinuationToken, ContinuationToken)) throw await this.#cutOff(what)
      ContinuationToken = NextContinuationToken
    } while (ContinuationToken !== '')
  }

  /** Half a list would tell that backups, or what they need, are not there. */
  #cutOff(what: Sayable): Promise<unknown> {
    return this.#requests.error(what, Object.assign(new Error(), { name: 'ListCutOff' }))
  }

  async *#uploads(prefix: string, what: string, signal: AbortSignal | undefined): AsyncGenerator<MultipartUpload> {
    let next: Marker | undefined = {}
    while (next !== undefined) {
      const {
        Uploads = [],
        IsTruncated,
        NextKeyMarker,
        NextUploadIdMarker,
      } = await this.#requests.send({ what, signal }, async (client, through) =>
        requireAnswer(await client.send(new ListMultipartUploadsCommand({ ...this.#below(prefix), ...next }), through)),
      )
      yield* Uploads
      const behind: Marker = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker }
      if (IsTruncated === true && leadsNowhere(true, markerOf(behind), markerOf(next))) throw await this.#cutOff(what)
      next = IsTruncated === true ? behind : undefined
    }
  }
}

interface Marker {
  readonly KeyMarker?: string | undefined
  readonly UploadIdMarker?: string | undefined
}

function markerOf({ KeyMarker = '', UploadIdMarker = '' }: Marker): string {
  return `${KeyMarker} ${UploadIdMarker}`.trim()
}

/** There is more, and the page does not say where; or what is behind the page is the page itself. */
function leadsNowhere(isTruncated: boolean, next: string, present: string | undefined): boolean {
  return next === '' ? isTruncated : next === present
}

function ignoreExpected(error: unknown): void {
  if (!(error instanceof Expected)) throw error
}
