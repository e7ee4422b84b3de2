import { command, counted, reported, say } from '#common/sentence/sentence.ts'
import { catalogue, type ErrorCode } from '#common/errors/error-catalogue.ts'
import { RegentError } from '#common/errors/errors.ts'
import { readText } from '#local/files/input-file.ts'

/** Longer than any read the manager answers from memory should take, also on a busy machine. */
const readDeadlineMs = 10_000
/** Managers send a comment every 2 s; those of an older version every 15 s. */
const silentStreamMs = 40_000
/** Characters of an answer, or of one event: whatever answers must not fill the memory of the program that asks. */
const longestAnswer = 64 * 1024 * 1024

/** An answer, of which only its beginning may have come. */
export interface ApiAnswer {
  readonly ok: boolean
  readonly status: number
  readonly body: AsyncIterable<Uint8Array> | null
}

/** A way to a manager, by a connection to its address or otherwise. */
export interface ApiRoute {
  readonly url: string
  readonly token: string
  fetch(url: string, init: RequestInit & { readonly headers: Readonly<Record<string, string>> }): Promise<ApiAnswer>
}

export interface ApiTarget {
  readonly url: string
  readonly tokenFile: string
}

/** Throws `REGENT_BAD_FILE` where the file holds no token. */
export async function tokenOf({ tokenFile }: Pick<ApiTarget, 'tokenFile'>): Promise<string> {
  const token = (await readText(tokenFile, say`the file with the API’s token`)).trim()
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new RegentError(
    'REGENT_BAD_FILE',
    say`the file with the API’s token, ${tokenFile}, must hold one word of printable characters`,
  )
}

/** Reads a manager's HTTP API: requests with deadlines, refusals as the errors they carry. */
export class ApiReader {
  readonly url: string
  readonly #route: ApiRoute
  readonly #longest: number

  constructor(route: ApiRoute, longest = longestAnswer) {
    this.url = route.url
    this.#route = route
    this.#longest = longest
  }

  /**
   * GETs a path below /api/v1. Throws `REGENT_API_UNREACHABLE`, `REGENT_TIMED_OUT`, or what the manager refused with.
   * The answer's shape is the API's contract: this client and the manager come from one release.
   */
  async get<Answer>(path: string, deadlineMs = readDeadlineMs): Promise<Answer> {
    return (await this.request('GET', path, undefined, deadlineMs)) as Answer
  }

  /** POSTs a question that is too long for a path; it changes nothing. Throws as `get` does. */
  async post<Answer>(path: string, body: object, deadlineMs = readDeadlineMs): Promise<Answer> {
    return (await this.request('POST', path, body, deadlineMs)) as Answer
  }

  /**
   * Server-sent events of a path until the stream ends or `signal` aborts; each one's data as text. Throws
   * `REGENT_TIMED_OUT` where nothing came for so long: a manager whose host is gone closes no connection.
   */
  async *events(path: string, signal: AbortSignal, silentMs = silentStreamMs): AsyncGenerator<string> {
    const silence = new AbortController()
    const what = say`the manager at ${this.url} has said nothing for ${silentMs / 1_000} s`
    const timer = setTimeout(() => silence.abort(new RegentError('REGENT_TIMED_OUT', what)), silentMs)
    try {
      const response = await this.#fetch('GET', path, undefined, AbortSignal.any([signal, silence.signal]))
      if (!response.ok) throw problemOf(this.url, response.status, await this.#textOf(response))
      yield* this.#eventsOf(response, () => void timer.refresh())
    } finally {
      clearTimeout(timer)
    }
  }

  /** Throws as `get` does. */
  protected async request(method: string, path: string, body: unknown, deadlineMs: number): Promise<unknown> {
    const signal = AbortSignal.timeout(deadlineMs)
    try {
      const response = await this.#fetch(method, path, body, signal)
      const text = await this.#textOf(response)
      if (!response.ok) throw problemOf(this.url, response.status, text)
      return parseAnswer(this.url, text)
    } catch (error) {
      if (signal.aborted)
        throw new RegentError(
          'REGENT_TIMED_OUT',
          say`the manager at ${this.url} did not answer within ${deadlineMs / 1000} s; what was asked may still be going on: ${command('recoveries')} shows it`,
          { cause: error },
        )
      throw error
    }
  }

  async #textOf({ body }: ApiAnswer): Promise<string> {
    let text = ''
    for await (const part of decoded(body)) this.#requireShort((text += part))
    return text
  }

  /** The data of each event; `heard` is called for whatever comes, a heartbeat too. */
  async *#eventsOf({ body }: ApiAnswer, heard: () => void): AsyncGenerator<string> {
    let text = ''
    for await (const part of decoded(body)) {
      heard()
      const events = (text + part).split('\n\n')
      this.#requireShort((text = events.pop() ?? ''))
      yield* events.flatMap(dataOf)
    }
  }

  #requireShort({ length }: string): void {
    if (length <= this.#longest) return
    throw new RegentError(
      'REGENT_API_UNREACHABLE',
      say`what answers at ${this.url} is no Regent manager: its answer is longer than ${counted(this.#longest, 'character')}`,
    )
  }

  async #fetch(method: string, path: string, body: unknown, signal: AbortSignal): Promise<ApiAnswer> {
    const headers = {
      authorization: `Bearer ${this.#route.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    try {
      return await this.#route.fetch(`${this.url}/api/v1${path}`, {
        method,
        headers,
        signal,
        redirect: 'error',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    } catch (error) {
      if (signal.aborted || error instanceof RegentError) throw error
      throw new RegentError(
        'REGENT_API_UNREACHABLE',
        say`no manager answers at ${this.url}: ${reported(reasonOf(error))}`,
        {
          cause: error,
        },
      )
    }
  }
}

async function* decoded(body: ApiAnswer['body']): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const part of body ?? []) yield decoder.decode(part, { stream: true })
}

/** None for a comment. */
function dataOf(event: string): readonly string[] {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trim()).join('\n')]
}

/** undici says "fetch failed"; why is in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : cause.name)
  return error instanceof Error ? error.message : String(error)
}

function parseAnswer(url: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new RegentError(
      'REGENT_API_UNREACHABLE',
      say`what answers at ${url} is no Regent manager: its answer is not JSON`,
      { cause: error },
    )
  }
}

/** The error that a problem+json answer (RFC 9457) carries: `{status, title, detail, code, remedy}`. */
function problemOf(url: string, status: number, text: string): RegentError {
  let problem: unknown
  try {
    problem = JSON.parse(text)
  } catch {
    problem = undefined
  }
  const { code, detail, title, remedy } = (typeof problem === 'object' && problem !== null ? problem : {}) as {
    code?: unknown
    detail?: unknown
    title?: unknown
    remedy?: unknown
  }
  if (typeof code !== 'string')
    return new RegentError(
      'REGENT_API_UNREACHABLE',
      say`what answers at ${url} is no Regent manager: it answered with HTTP status ${status}`,
    )
  const words = [detail, title].find((part) => typeof part === 'string')
  const known = Object.hasOwn(catalogue, code)
  return new RegentError(
    known ? (code as ErrorCode) : 'REGENT_REFUSED',
    say`${typeof words === 'string' ? reported(words) : say`HTTP status ${status}`}${known ? '' : say` (${code})`}`,
    typeof remedy === 'string' ? { remedy } : {},
  )
}
