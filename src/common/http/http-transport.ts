import type { IncomingMessage } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { describeFailure, requestTo } from './agent-request.ts'
import { catalogue, type ErrorCode } from '../errors/error-catalogue.ts'
import { RegentError } from '../errors/errors.ts'
import { withSentences } from '../sentence/sentence-wire.ts'
import { heard, say, Sentence, type Sayable } from '../sentence/sentence.ts'
import { Agent } from './node-http.ts'
import type { Transport } from '../ports/ports.ts'
import type { ClientTls } from '../tls/tls.ts'

export interface HttpTransportOptions {
  /** Sent as bearer token with every request. */
  readonly token: string
  /** Plain HTTP unless given. */
  readonly tls?: ClientTls | undefined
  /** An answer larger than this is refused. GTID sets of 100,000 intervals fit many times over. */
  readonly maxAnswerBytes?: number
}

/** A transport that keeps connections open between requests; `close` ends them. */
export interface HttpTransport extends Transport {
  close(): void
}

interface Exchange {
  readonly address: string
  readonly path: string
  readonly body: string
  readonly deadlineMs: number
}

interface Answer {
  readonly status: number
  readonly text: string
}

/**
 * JSON over HTTP to agents. Connections are kept: on the critical path of a failover a handshake is a round trip too
 * many.
 */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const pool = { keepAlive: true, maxFreeSockets: 4, scheduling: 'lifo' } as const
  // A resumed session would go on with certificates that were checked when it began.
  const connections = options.tls === undefined ? new Agent(pool) : new TlsAgent({ ...pool, maxCachedSessions: 0 })
  const maxAnswerBytes = options.maxAnswerBytes ?? 16 * 1024 * 1024

  return {
    async post(address, path, body, deadlineMs) {
      const exchange = { address, path, body: JSON.stringify(body), deadlineMs }
      const answer = await send(exchange, AbortSignal.timeout(wholeMs(deadlineMs)))
      return parse(exchange, answer)
    },
    close: () => connections.destroy(),
  }

  async function send(exchange: Exchange, deadline: AbortSignal): Promise<Answer> {
    try {
      return await sendOnce(exchange, deadline)
    } catch (error) {
      // The agent closed a kept connection just as it was used again. Orders are idempotent, so they may be sent twice.
      if (error instanceof StaleConnection && !deadline.aborted) return send(exchange, deadline)
      if (error instanceof RegentError) throw error
      throw unreachable(
        exchange,
        deadline.aborted ? say`did not answer within ${exchange.deadlineMs} ms` : describeFailure(error),
        error,
      )
    }
  }

  function sendOnce(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = requestTo(options.tls, {
        ...hostAndPort(exchange.address),
        path: exchange.path,
        method: 'POST',
        agent: connections,
        signal,
        headers: {
          authorization: `Bearer ${options.token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(exchange.body),
        },
      })
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        reject(stale ? new StaleConnection() : error)
      })
      outgoing.on('response', (incoming) => {
        readText(incoming, maxAnswerBytes).then((text) => resolve({ status: incoming.statusCode ?? 0, text }), reject)
      })
      outgoing.end(exchange.body)
    })
  }
}

class StaleConnection extends Error {}

/** The body. Rejects where it is longer. */
export async function readText(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`its answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(exchange: Exchange, answer: Answer): unknown {
  const value = parseJson(answer.text)
  if (answer.status >= 200 && answer.status < 300 && value !== undefined) return value
  throw (
    refusalIn(exchange, value) ??
    unreachable(exchange, say`answered HTTP ${answer.status} with ${JSON.stringify(answer.text.slice(0, 80))}`)
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The agent's own refusal: problem+json with a code of the catalogue. */
function refusalIn(exchange: Exchange, value: unknown): RegentError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code, detail } = withSentences<{ code?: unknown; detail?: unknown }>(value)
  if (typeof code !== 'string' || !Object.hasOwn(catalogue, code)) return undefined
  return new RegentError(
    code as ErrorCode,
    say`agent ${exchange.address}: ${typeof detail === 'string' || detail instanceof Sentence ? heard(detail) : code}`,
  )
}

function unreachable(exchange: Exchange, what: Sayable, cause?: unknown): RegentError {
  return new RegentError('REGENT_AGENT_UNREACHABLE', say`agent ${exchange.address} (${exchange.path}): ${what}`, {
    cause,
  })
}

/** What is left until a deadline has a fraction, or is past it already; `AbortSignal.timeout` takes neither. */
function wholeMs(ms: number): number {
  return Math.max(1, Math.ceil(ms))
}

/** `10.0.0.1:9400`, `[fd00::1]:9400`. Throws `REGENT_BAD_REQUEST` for anything else. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  const port = Number(address.slice(colon + 1))
  if (colon < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new RegentError('REGENT_BAD_REQUEST', say`"${address}" is not host:port of an agent`)
  }
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port }
}
