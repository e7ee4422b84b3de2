import type { S3Client } from '@aws-sdk/client-s3'
import type { World } from '#common/ports/ports.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { Retries } from './retries.ts'
import {
  againAfter,
  failureOf,
  isPassing,
  mayHaveBeenDone,
  sentenceAbout,
  type Again,
  type S3Failure,
} from './s3-failure.ts'

export interface RequestParts {
  readonly client: S3Client
  /** For people. */
  readonly address: string
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>
  readonly budgetMs: number
}

export interface Doing {
  /** For people: what cannot be done where it fails, such as `object a was not stored`. */
  readonly what: string
  readonly signal?: AbortSignal | undefined
  /** Failures that are answers. */
  readonly expected?: readonly string[]
}

export interface Through {
  readonly abortSignal?: AbortSignal
}

/** A failure that the caller expected, with what is told of it. */
export class Expected extends Error {
  readonly failure: S3Failure
  /** A request before may have done what it was for, and its answer was lost. */
  readonly isAfterLoss: boolean

  constructor(failure: S3Failure, isAfterLoss: boolean) {
    super(failure.code)
    this.failure = failure
    this.isAfterLoss = isAfterLoss
  }
}

/** Sends to one bucket: again where that can help, and says in a sentence what failed in the end. */
export class S3Requests {
  readonly client: S3Client
  readonly #parts: RequestParts
  /** The store has answered once, and took the credentials. */
  #isKnown = false

  constructor(parts: RequestParts) {
    this.client = parts.client
    this.#parts = parts
  }

  get address(): string {
    return this.#parts.address
  }

  retries(signal: AbortSignal | undefined): Retries {
    const { world, budgetMs } = this.#parts
    return new Retries({ world, budgetMs, signal })
  }

  /**
   * @param attempt one request; what it sends goes `through`, which carries the signal
   * @throws RegentError `REGENT_BACKUP_STORE`, `Expected`, or the reason of the signal
   */
  async send<T>(doing: Doing, attempt: (client: S3Client, through: Through) => Promise<T>): Promise<T> {
    const through = doing.signal === undefined ? {} : { abortSignal: doing.signal }
    const retries = this.retries(doing.signal)
    for (let isAfterLoss = false; ;) {
      doing.signal?.throwIfAborted()
      try {
        const answer = await attempt(this.client, through)
        this.#isKnown = true
        return answer
      } catch (error) {
        doing.signal?.throwIfAborted()
        const failure = failureOf(error)
        if (doing.expected?.includes(failure.code) === true) throw new Expected(failure, isAfterLoss)
        if (!(await retries.mayTryAgain(this.#againAfter(failure)))) throw await this.error(doing.what, error)
        isAfterLoss ||= mayHaveBeenDone(failure)
      }
    }
  }

  /**
   * Credentials that rotate are others in the store first: a kubelet brings a changed Secret to its pod within a minute
   * or two. What took hours is not given up for that.
   */
  #againAfter(failure: S3Failure): Again {
    return this.#isKnown && isPassing(failure) ? 'patiently' : againAfter(failure)
  }

  /** Without the client's error as its cause: that holds the request, with its headers. */
  async error(what: Sayable, error: unknown): Promise<RegentError> {
    if (error instanceof RegentError) return error
    const why = sentenceAbout(failureOf(error), await this.#secrets())
    return new RegentError(
      'REGENT_BACKUP_STORE',
      say`Store of backups ${this.#parts.address}: ${what}: ${reported(why)}.`,
    )
  }

  /** What no message may hold. */
  async #secrets(): Promise<readonly string[]> {
    try {
      const { accessKeyId, secretAccessKey, sessionToken = '' } = await this.client.config.credentials()
      return [accessKeyId, secretAccessKey, sessionToken]
    } catch {
      return []
    }
  }
}
