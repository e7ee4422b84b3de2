import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'

export interface Refusal {
  /** HTTP status of the answer. */
  readonly status: number
  /**
   * Kubernetes' word for it: `Conflict`, `NotFound`, `AlreadyExists`, `Expired`, `Invalid`, `Forbidden`,
   * `TooManyRequests` and others.
   */
  readonly reason?: string | undefined
  /** How long the API server asks to wait before the next try. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The API server answered, and refused. Where nothing answered at all, the error is a RegentError with
 * `REGENT_KUBE_UNREACHABLE`.
 */
export class KubeApiError extends RegentError {
  readonly reason: string
  readonly retryAfterMs: number | undefined
  readonly #status: number

  constructor(message: Sentence, refusal: Refusal) {
    super('REGENT_KUBE_API', message)
    this.name = 'KubeApiError'
    this.#status = refusal.status
    this.reason = refusal.reason ?? reasonsOfStatus[refusal.status] ?? 'Unknown'
    this.retryAfterMs = refusal.retryAfterMs
  }

  /** HTTP status of the API server's answer, not the catalogue's. */
  override get status(): number {
    return this.#status
  }
}

/** The answer would not fit into this process beside all else; nothing of it was kept. */
export class AnswerTooLarge extends RegentError {
  constructor(what: Sayable, mostBytes: number) {
    super('REGENT_KUBE_API', say`${what}: the answer is larger than ${mostBytes / 1024 / 1024} MiB`)
    this.name = 'AnswerTooLarge'
  }
}

/** For answers of proxies and load balancers, which send no Status object. */
const reasonsOfStatus: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

export function isNotFound(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.status === 404
}

/** The object itself is refused: what it says, or what it would say together with what is there. */
export function isInvalid(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.reason === 'Invalid'
}

/** Somebody else wrote first. An object that exists already is also a 409, and another matter. */
export function isConflict(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.reason === 'Conflict'
}

export function isAlreadyExists(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.reason === 'AlreadyExists'
}

/** The resourceVersion or continue token is too old: `Expired` from lists and watches, `Gone` from older servers. */
export function isExpired(error: unknown): error is KubeApiError {
  return (
    error instanceof KubeApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
  )
}
