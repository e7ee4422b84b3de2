import { say, text } from '#common/sentence/sentence.ts'
import type { Agent, Dispatcher } from 'undici'
import { described } from '#common/errors/errors.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import type { HttpAction } from '../wire/definitions.ts'
import { fillTemplate } from './template.ts'
import { signalWithin } from './time-signal.ts'

export interface HttpLimits {
  readonly deadlineMs: number | null
  readonly outputBytes: number
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal
}

type Values = Readonly<Record<string, string | undefined>>

interface FilledRequest {
  readonly url: string
  readonly method: string
  readonly headers: readonly string[]
  readonly body: string
}

/** Calls a server of the pod. Connections are kept; undici is loaded at the first call. */
export class HttpCaller {
  #dispatcher: Promise<{ readonly agent: Agent; readonly following: Dispatcher }> | undefined

  /** A status of 2xx is a success, and the body its output. Never rejects. */
  async call(action: HttpAction, values: Values, limits: HttpLimits): Promise<ActionResult> {
    const filled = filledRequest(action, values)
    if ('ok' in filled) return filled
    const signal = signalWithin(limits.deadlineMs, limits.signal)
    try {
      return await this.#send(filled, limits.outputBytes, signal)
    } catch (error) {
      if (limits.signal.aborted) return refusal('failed', say`the agent is stopping`)
      if (signal.aborted) return refusal('timedOut')
      return refusal('failed', say`http request failed, error: ${described(error)}`)
    }
  }

  async close(): Promise<void> {
    await (await this.#dispatcher)?.agent.destroy()
  }

  async #send(filled: FilledRequest, outputBytes: number, signal: AbortSignal): Promise<ActionResult> {
    this.#dispatcher ??= connect()
    const { following } = await this.#dispatcher
    const { origin, pathname, search } = new URL(filled.url)
    const answer = await following.request({
      origin,
      path: pathname + search,
      method: filled.method,
      headers: [...filled.headers],
      body: filled.body === '' ? null : filled.body,
      signal,
    })
    const body = await readUpTo(answer.body, outputBytes)
    if (body === undefined)
      return refusal('failed', say`the answer has more than ${outputBytes} bytes; raise --max-output`)
    if (answer.statusCode >= 200 && answer.statusCode < 300) return succeeded(body)
    return refusal(
      'failed',
      say`http request failed, status: ${answer.statusCode}, body: ${text(body.toString('utf8', 0, 2_000))}`,
    )
  }
}

async function connect(): Promise<{ readonly agent: Agent; readonly following: Dispatcher }> {
  const { Agent, interceptors } = await import('undici')
  const agent = new Agent({
    connect: { timeout: 5_000 },
    connections: 20,
    keepAliveTimeout: 90_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return { agent, following: agent.compose(interceptors.redirect({ maxRedirections: 10 })) }
}

/** The request with its templates filled in, or why it cannot be. */
function filledRequest(action: HttpAction, values: Values): FilledRequest | ActionResult {
  const url = addressOf(action)
  if (typeof url !== 'string') return url
  const body = fill('http.body', action.body ?? '', values)
  if (typeof body !== 'string') return body
  const headers: string[] = []
  for (const { name, value } of action.headers ?? []) {
    const filled = fill(`header ${name}`, value, values)
    if (typeof filled !== 'string') return filled
    // Bytes of UTF-8, as Go sends them: of a text Node's client would send one byte for each character.
    headers.push(name, Buffer.from(filled).toString('latin1'))
  }
  return { url, method: (action.method ?? 'GET').toUpperCase(), headers, body }
}

function addressOf({ port, host = '127.0.0.1', scheme = 'http', path = '/' }: HttpAction): string | ActionResult {
  if (!/^\d{1,5}$/.test(port)) return refusal('badRequest', say`http.port is "${port}"; allowed is a number`)
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const url = `${scheme.toLowerCase()}://${authority}${path.startsWith('/') ? '' : '/'}${path}`
  return /^https?:/.test(url) && URL.canParse(url)
    ? url
    : refusal('badRequest', say`scheme, host, port and path make no http or https address: ${text(url)}`)
}

function fill(what: string, template: string, values: Values): string | ActionResult {
  const filled = fillTemplate(template, values)
  if ('text' in filled) return filled.text
  return refusal(filled.isSyntax ? 'notImplemented' : 'badRequest', say`${what}: ${filled.wrong}`)
}

/** The body; undefined where it is longer. */
async function readUpTo(body: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limitBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
