import { request, type Dispatcher } from 'undici'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { KubePath } from '#common/http/kube-path.ts'
import type { World } from '#common/ports/ports.ts'
import type { ClientThrottle } from './client-throttle.ts'
import type { KubeConnection, TlsSettings } from '../kube-config/kube-config.ts'
import { dispatcherFor } from '../kube-config/kube-dispatcher.ts'
import { AnswerTooLarge, type KubeApiError } from './kube-api-error.ts'
import { refusalIn } from './kube-refusal.ts'

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: KubePath
  readonly body?: unknown
  readonly contentType?: string
  readonly deadlineMs: number
  readonly signal?: AbortSignal | undefined
  readonly guard?: (() => void) | undefined
  /** A longer answer is given up with AnswerTooLarge. */
  readonly mostBytes?: number | undefined
}

/** What a request came to: an HTTP status, or `<error>` where nothing answered. */
export interface RequestRecord {
  readonly method: string
  readonly host: string
  readonly code: string
  readonly durationMs: number
  /** The API server's clock, to the second, as it began to answer. Milliseconds since 1970. */
  readonly serverMs?: number
}

export interface KubeTransportParts {
  readonly connection: KubeConnection
  readonly throttle: ClientThrottle
  readonly world: World
  readonly userAgent: string
  readonly onRequest?: (record: RequestRecord) => void
}

/** client-go's bound. The deadline usually ends it earlier. */
const mostTries = 10
/**
 * Connections for requests that end. A manager of hundreds of clusters reads all records at once when it takes the
 * lead: without a bound each of these reads begins with a handshake, and their connections stay for a minute.
 */
const mostConnections = 32
/** Bytes of an answer with one object: etcd holds 1.5 MB, and JSON may write a byte of it in six. */
const longestAnswerBytes = 32 * 1024 * 1024
const longestRefusalBytes = 1024 * 1024

/** Requests to the API server: signed, throttled, bounded in time, repeated where the server says when. */
export class KubeTransport {
  readonly #parts: KubeTransportParts
  readonly #answers = new Connections(mostConnections)
  /** A watch keeps its connection for minutes. */
  readonly #streams = new Connections()

  constructor(parts: KubeTransportParts) {
    this.#parts = parts
  }

  /** The JSON of the answer. */
  async json(asked: KubeRequest): Promise<unknown> {
    return this.#within(asked, async (signal, deadlineAtMs) => {
      const body = await this.#send(asked, { signal, deadlineAtMs, connections: this.#answers })
      return parsed(asked, await textOf(asked, body, asked.mostBytes ?? longestAnswerBytes))
    })
  }

  /** The answer as it comes. The deadline is for its beginning; `whole` ends the stream. */
  async stream(asked: KubeRequest, whole: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return this.#within({ ...asked, signal: whole }, (beginning, deadlineAtMs) => {
      const signal = new AbortController()
      const abort = (): void => signal.abort(beginning.reason)
      const end = (): void => signal.abort(whole.reason)
      beginning.addEventListener('abort', abort, { once: true })
      whole.addEventListener('abort', end, { once: true })
      return this.#send(asked, { signal: signal.signal, deadlineAtMs, connections: this.#streams }).finally(() =>
        beginning.removeEventListener('abort', abort),
      )
    })
  }

  async close(): Promise<void> {
    await Promise.all([this.#answers.close(), this.#streams.close()])
  }

  /** Runs with a signal that falls with the caller's, or at the deadline. */
  async #within<Result>(
    asked: KubeRequest,
    work: (signal: AbortSignal, deadlineAtMs: number) => Promise<Result>,
  ): Promise<Result> {
    const { clock, timers } = this.#parts.world
    const ending = new AbortController()
    const giveUp = (): void => ending.abort(asked.signal?.reason)
    if (asked.signal?.aborted) giveUp()
    asked.signal?.addEventListener('abort', giveUp, { once: true })
    const timer = timers.after(asked.deadlineMs, () =>
      ending.abort(this.#silent(asked, say`did not answer within ${asked.deadlineMs} ms`)),
    )
    try {
      ending.signal.throwIfAborted()
      return await work(ending.signal, clock.monotonicMs() + asked.deadlineMs)
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason
      throw error instanceof RegentError ? error : this.#silent(asked, described(error), error)
    } finally {
      timer.cancel()
      asked.signal?.removeEventListener('abort', giveUp)
    }
  }

  async #send(asked: KubeRequest, way: Way): Promise<Dispatcher.ResponseData['body']> {
    const { signal, deadlineAtMs } = way
    let renewed = false
    for (let tries = 1; ; tries++) {
      await this.#parts.throttle.take(signal)
      const answer = await this.#sendAgainWhereStale(asked, way, renewed)
      if (answer.statusCode >= 200 && answer.statusCode < 300) return answer.body
      const refusal = refusalIn(describe(asked), {
        ...answer,
        text: await textOf(asked, answer.body, longestRefusalBytes),
      })
      if (refusal.status === 401 && !renewed) {
        renewed = true
        continue
      }
      const waitMs = tries < mostTries ? pauseAfter(refusal) : undefined
      if (waitMs === undefined || this.#parts.world.clock.monotonicMs() + waitMs >= deadlineAtMs) throw refusal
      await this.#parts.world.timers.sleep(waitMs, signal)
    }
  }

  /**
   * A kept connection may be closed by the server just as it is used again. Reading twice is harmless; a write is left
   * to its caller.
   */
  async #sendAgainWhereStale(asked: KubeRequest, way: Way, fresh: boolean): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#sendOnce(asked, way, fresh)
    } catch (error) {
      if (asked.method !== 'GET' || way.signal.aborted || !isStale(error)) throw error
      return this.#sendOnce(asked, way, fresh)
    }
  }

  async #sendOnce(asked: KubeRequest, { signal, connections }: Way, fresh: boolean): Promise<Dispatcher.ResponseData> {
    const { connection, world, userAgent, onRequest } = this.#parts
    // A credential plugin may hang; the deadline is for it too.
    const { headers, tls } = await unlessAborted(connection.credentials(fresh), signal)
    asked.guard?.()
    const url = connection.server + asked.path
    const startedMs = world.clock.monotonicMs()
    const record = (code: string, date?: unknown): void => {
      const serverMs = Date.parse(String(date))
      onRequest?.({
        method: asked.method,
        host: new URL(url).host,
        code,
        durationMs: world.clock.monotonicMs() - startedMs,
        ...(!Number.isNaN(serverMs) && { serverMs }),
      })
    }
    try {
      const asking = request(url, {
        method: asked.method,
        dispatcher: connections.with(connection, tls),
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...(asked.body === undefined ? {} : { 'content-type': asked.contentType ?? 'application/json' }),
          ...headers,
        },
        body: asked.body === undefined ? null : JSON.stringify(asked.body),
        signal,
        // The deadline is the signal's; a quiet watch must not be taken for a dead one here.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      // undici looks at the signal only once it has a connection, and a frozen server gives none for long.
      const answer = await unlessAborted(asking, signal)
      record(String(answer.statusCode), answer.headers['date'])
      return answer
    } catch (error) {
      record('<error>')
      throw error
    }
  }

  #silent(asked: KubeRequest, what: Sayable, cause?: unknown): RegentError {
    return new RegentError(
      'REGENT_KUBE_UNREACHABLE',
      say`API server ${this.#parts.connection.server} (${describe(asked)}): ${what}`,
      { cause },
    )
  }
}

/** Until when a request may take, and on whose connections it goes. */
interface Way {
  readonly signal: AbortSignal
  readonly deadlineAtMs: number
  readonly connections: Connections
}

/** Connections are made with certificates, so rotated ones need new connections. */
class Connections {
  readonly #most: number | undefined
  #now: { readonly settings: string; readonly dispatcher: Dispatcher } | undefined

  constructor(most?: number) {
    this.#most = most
  }

  with(connection: KubeConnection, tls: TlsSettings): Dispatcher {
    const settings = JSON.stringify(tls)
    if (this.#now?.settings === settings) return this.#now.dispatcher
    // What runs on the old ones, watches above all, ends by itself.
    this.#now?.dispatcher.close().catch(() => undefined)
    const dispatcher = dispatcherFor(connection, tls, this.#most)
    this.#now = { settings, dispatcher }
    return dispatcher
  }

  async close(): Promise<void> {
    await this.#now?.dispatcher.destroy()
    this.#now = undefined
  }
}

/** What `work` comes to, unless the signal falls first. */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function isStale(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

function parsed(asked: KubeRequest, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RegentError(
      'REGENT_KUBE_API',
      say`${describe(asked)}: the answer is no JSON: ${JSON.stringify(text.slice(0, 120))}`,
      { cause: error },
    )
  }
}

async function textOf(asked: KubeRequest, body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > mostBytes) throw new AnswerTooLarge(describe(asked), mostBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function describe({ method, path }: KubeRequest): string {
  return `${method} ${path}`
}

/** How long one who is too busy wants to be left alone; undefined where to ask again is of no use. */
function pauseAfter({ status, retryAfterMs }: KubeApiError): number | undefined {
  return status === 429 || status >= 500 ? retryAfterMs : undefined
}
