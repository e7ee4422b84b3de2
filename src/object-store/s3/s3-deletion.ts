import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  type DeleteObjectsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { Interruptible } from '../object-store.ts'
import { failureOf, isAboutLock, isUnknownCall, requireAnswer, requireStatus } from './s3-failure.ts'
import type { S3Requests, Through } from './s3-requests.ts'
import type { Place } from './s3-upload.ts'

/** The number of objects that S3 deletes with one request. */
const mostDeleted = 1_000
/** The number of deletions under way at once where each object needs a request. */
const mostAtOnce = 16

/** The places of keys, and the keys of listed places. */
export interface Places {
  readonly placeOf: (key: string) => Place
  readonly keyIn: (listed: string | undefined) => string | undefined
}

/** The objects that an answer decides. An object that the answer does not name is in neither set. */
interface Judged {
  readonly deleted: ReadonlySet<string>
  readonly locked: ReadonlySet<string>
}

const nothingJudged: Judged = { deleted: new Set(), locked: new Set() }

/**
 * Deletes objects of a bucket. An object counts as deleted where the server says so of this very object. Some servers
 * do not know the call for many objects, and some leave objects out of its answer: each such object gets a request of
 * its own.
 */
export class S3Deletion {
  readonly #requests: S3Requests
  readonly #places: Places
  #knowsMany = true

  constructor(requests: S3Requests, places: Places) {
    this.#requests = requests
    this.#places = places
  }

  /**
   * @returns the keys that stay, since the store locks them. Throws RegentError `REGENT_BACKUP_STORE`, or the reason of
   *   the signal
   */
  async delete(keys: readonly string[], options: Interruptible): Promise<readonly string[]> {
    const locked: string[] = []
    for (let at = 0; at < keys.length; at += mostDeleted)
      locked.push(...(await this.#deleteSome(keys.slice(at, at + mostDeleted), options)))
    return locked
  }

  async #deleteSome(keys: readonly string[], options: Interruptible): Promise<readonly string[]> {
    const { deleted, locked } = this.#knowsMany ? await this.#deleteMany(keys, options) : nothingJudged
    const left = keys.filter((key) => !deleted.has(key) && !locked.has(key))
    const alone: string[] = []
    for (let at = 0; at < left.length; at += mostAtOnce) {
      const some = left.slice(at, at + mostAtOnce)
      const stay = await Promise.all(some.map((key) => this.#isLockedOrDelete(key, options)))
      alone.push(...some.filter((_, nth) => stay[nth]))
    }
    return [...locked, ...alone]
  }

  #deleteMany(keys: readonly string[], { signal }: Interruptible): Promise<Judged> {
    const what = keys.length === 1 ? `object ${keys[0]} was not deleted` : `${keys.length} objects were not all deleted`
    return this.#requests.send({ what, signal }, async (client, through) => {
      const answer = await this.#askMany(keys, client, through)
      return answer === null ? nothingJudged : this.#judged(answer)
    })
  }

  /** Null where the server does not know the call. */
  async #askMany(
    keys: readonly string[],
    client: S3Client,
    through: Through,
  ): Promise<DeleteObjectsCommandOutput | null> {
    const places = keys.map((key) => this.#places.placeOf(key))
    // A quiet server names nothing where all is deleted, and no more does a page of somebody else.
    const Delete = { Objects: places.map(({ Key }) => ({ Key })), Quiet: false }
    const Bucket = places[0]?.Bucket
    try {
      const asked = new DeleteObjectsCommand({ Bucket, Delete, ChecksumAlgorithm: 'SHA256' })
      return requireAnswer(await client.send(asked, through))
    } catch (error) {
      if (!isUnknownCall(failureOf(error))) throw error
      this.#knowsMany = false
      return null
    }
  }

  #judged({ Deleted = [], Errors = [] }: DeleteObjectsCommandOutput): Judged {
    const first = Errors.find((error) => error.Code !== 'NoSuchKey' && !isAboutLock(error))
    if (first !== undefined)
      throw Object.assign(new Error(first.Message ?? ''), { name: first.Code ?? 'InternalError' })
    const keysOf = (objects: readonly { readonly Key?: string | undefined }[]) =>
      new Set(objects.flatMap(({ Key }) => this.#places.keyIn(Key) ?? []))
    const absent = Errors.filter(({ Code }) => Code === 'NoSuchKey')
    return { deleted: keysOf([...Deleted, ...absent]), locked: keysOf(Errors.filter(isAboutLock)) }
  }

  /** True where the store locks the object, which then stays. */
  #isLockedOrDelete(key: string, { signal }: Interruptible): Promise<boolean> {
    return this.#requests.send({ what: `object ${key} was not deleted`, signal }, async (client, through) => {
      try {
        requireStatus(204, await client.send(new DeleteObjectCommand(this.#places.placeOf(key)), through))
        return false
      } catch (error) {
        const { code: Code, message: Message } = failureOf(error)
        if (isAboutLock({ Code, Message })) return true
        if (Code === 'NoSuchKey') return false
        throw error
      }
    })
  }
}
