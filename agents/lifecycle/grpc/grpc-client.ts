import { connect, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2'

/** What a server answered: a message, or why there is none, by gRPC's codes (12: the server has no such method). */
export type GrpcAnswer =
  | { readonly ok: true; readonly message: Buffer }
  | { readonly ok: false; readonly code: number; readonly words: string }

const connectMs = 5_000
const longestAnswer = 16 * 1024 * 1024
const unknownCode = 2

/** A connection to one gRPC server in clear text, as servers of a pod speak it. */
export class GrpcClient {
  readonly #session: ClientHttp2Session
  readonly #signal: AbortSignal

  private constructor(session: ClientHttp2Session, signal: AbortSignal) {
    this.#session = session
    this.#signal = signal
  }

  /** Rejects where nobody listens, and with the signal's reason. */
  static async connect(authority: string, signal: AbortSignal): Promise<GrpcClient> {
    const session = connect(`http://${authority}`)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    session.once('connect', () => resolve())
    session.on('error', reject)
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    session.setTimeout(connectMs, () => reject(new Error(`${authority} does not answer within ${connectMs / 1_000} s`)))
    try {
      await promise
    } catch (error) {
      session.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
      session.setTimeout(0)
    }
    return new GrpcClient(session, signal)
  }

  /** Sends one message and gives the last that comes back. Rejects where the connection breaks. */
  async call(path: string, message: Uint8Array): Promise<GrpcAnswer> {
    const stream = this.#session.request(
      {
        ':method': 'POST',
        ':path': path,
        te: 'trailers',
        'content-type': 'application/grpc',
        'user-agent': 'regent-lifecycle-agent',
      },
      { signal: this.#signal },
    )
    stream.end(framed(message))
    return answerOf(stream)
  }

  close(): void {
    this.#session.destroy()
  }
}

async function answerOf(stream: ClientHttp2Stream): Promise<GrpcAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  let headers: IncomingHttpHeaders = {}
  let trailers: IncomingHttpHeaders = {}
  stream.on('response', (given: IncomingHttpHeaders) => (headers = given))
  stream.on('trailers', (given: IncomingHttpHeaders) => (trailers = given))
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longestAnswer) throw new Error(`the answer has more than ${longestAnswer} bytes`)
    chunks.push(chunk)
  }
  // A server that refuses at once sends its outcome as headers, and no trailers.
  const told = trailers['grpc-status'] === undefined ? headers : trailers
  return outcome(told, headers[':status'], Buffer.concat(chunks))
}

function outcome(told: IncomingHttpHeaders, status: unknown, body: Buffer): GrpcAnswer {
  const code = told['grpc-status']
  if (code === undefined) return refused(unknownCode, `HTTP status ${String(status)}, and no gRPC status`)
  if (code !== '0') return refused(Number(code), decodeURIComponentSafely(String(told['grpc-message'] ?? '')))
  const message = lastMessage(body)
  return message === undefined ? refused(unknownCode, 'the answer holds no whole message') : { ok: true, message }
}

function refused(code: number, words: string): GrpcAnswer {
  return { ok: false, code, words }
}

/** A byte that says whether the message is compressed, four of its length, and the message. */
function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function lastMessage(body: Buffer): Buffer | undefined {
  let [at, last]: [number, Buffer | undefined] = [0, undefined]
  while (at + 5 <= body.length) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    if (body[at] !== 0 || end > body.length) return undefined
    last = body.subarray(at + 5, end)
    at = end
  }
  return at === body.length ? last : undefined
}

/** gRPC writes messages with percent signs, and not every server does. */
function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
