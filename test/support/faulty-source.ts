import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Framer, preambleOf, type Trailer } from '#agents/lifecycle/streaming/frames.ts'
import { freePort } from './free-port.ts'

/** What is wrong with a stream. */
export type Fault =
  | { readonly in: 'nothing' }
  /** It breaks off; places are counted from behind the preamble. */
  | { readonly in: 'length'; readonly at: number; readonly then: string }
  /** A bit is another, behind the preamble. */
  | { readonly in: 'bit'; readonly at: number; readonly bit: number }
  | { readonly in: 'preamble'; readonly at: number }
  | { readonly in: 'count'; readonly by: number }
  | { readonly in: 'checksum' }
  /** The source says itself that it failed. */
  | { readonly in: 'code' }
  | { readonly in: 'after'; readonly more: Buffer }
  | { readonly in: 'before'; readonly more: Buffer }
  /** Its first line, one of its frames or its last line goes on with this, again and again. */
  | { readonly in: 'endless'; readonly part: 'preamble' | 'frames' | 'trailer'; readonly block: Buffer }
  /** A frame says that so many bytes follow. */
  | { readonly in: 'frame'; readonly length: number }

export interface FaultyStream {
  /** The data, as frames of these. */
  readonly parts: readonly Buffer[]
  readonly fault: Fault
  /** Where the stream is cut into writes. */
  readonly places: readonly number[]
  /** Without frames, as a server of KubeBlocks sends it. */
  readonly isBare?: boolean
  /** What happens to the connection after all that; `holds`: nothing. */
  readonly then?: 'ends' | 'resets' | 'holds'
}

/** What goes on without an end is broken off after so many bytes. */
const endlessBytes = 24 * 1024 * 1024

/** A streaming server that speaks in frames as an agent does, and is wrong in one thing. */
export class FaultySource {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #stream: FaultyStream | undefined
  #sent = Promise.withResolvers<undefined>()

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  static async start(): Promise<FaultySource> {
    const port = await freePort()
    const server = createServer({ noDelay: true })
    const source = new FaultySource(server, port)
    server.on('connection', (socket) => source.#serve(socket))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return source
  }

  /** What the next client is sent. */
  next(stream: FaultyStream): this {
    this.#stream = stream
    this.#sent = Promise.withResolvers()
    return this
  }

  /** Resolves once that client was sent everything, or has gone. */
  get sent(): Promise<undefined> {
    return this.#sent.promise
  }

  get connections(): number {
    return this.#sockets.size
  }

  async end(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (request: Buffer) => {
      const { framing } = JSON.parse(request.toString()) as { readonly framing: string }
      const stream = this.#stream
      if (stream === undefined) return void socket.destroy()
      const then = stream.fault.in === 'length' ? stream.fault.then : (stream.then ?? 'ends')
      const sent = this.#sent
      socket.once('close', () => sent.resolve(undefined))
      const pieces = cut(bytesOf(stream, framing), stream.places)
      const send = (index: number): void => {
        const piece = pieces[index]
        if (socket.destroyed) return
        if (piece !== undefined) return void socket.write(piece, () => setImmediate(send, index + 1))
        sent.resolve(undefined)
        if (then === 'resets') socket.resetAndDestroy()
        else if (then === 'ends') socket.end()
      }
      send(0)
    })
  }
}

function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length))
}

function bytesOf({ parts, fault, isBare }: FaultyStream, framing: string): Buffer {
  const none = Buffer.alloc(0)
  if (isBare === true)
    return Buffer.concat(damaged({ preamble: none, body: Buffer.concat(parts), trailer: none }, fault))
  const framer = new Framer()
  const preamble = Buffer.from(preambleOf(framing))
  const frames = parts.flatMap((part) => framer.frame(part))
  const trailer = framer.trailer(fault.in === 'code' ? 'disk full' : '')
  return Buffer.concat(damaged({ preamble, body: Buffer.concat([...frames, trailer]), trailer }, fault))
}

interface Pieces {
  readonly preamble: Buffer
  /** Frames and trailer. */
  readonly body: Buffer
  readonly trailer: Buffer
}

function damaged(pieces: Pieces, fault: Fault): readonly Buffer[] {
  const { preamble, body } = pieces
  switch (fault.in) {
    case 'preamble':
      return [flipped(preamble, fault.at, 0), body]
    case 'after':
      return [preamble, body, fault.more]
    case 'before':
      return [fault.more, preamble, body]
    case 'endless':
      return [...beginning(pieces, fault.part), Buffer.alloc(endlessBytes, fault.block)]
    case 'frame':
      return [preamble, lengthOf(fault.length), body]
    default:
      return [preamble, otherBody(pieces, fault)]
  }
}

function otherBody({ body, trailer }: Pieces, fault: Fault): Buffer {
  switch (fault.in) {
    case 'length':
      return body.subarray(0, fault.at % body.length)
    case 'bit':
      return flipped(body, fault.at, fault.bit)
    case 'count':
      return otherTrailer(body, trailer, (told) => ({ ...told, bytes: told.bytes + fault.by }))
    case 'checksum':
      return otherTrailer(body, trailer, (told) => ({ ...told, sha256: told.sha256.replace(/^./, 'x') }))
    default:
      return body
  }
}

/** What comes before a part ends. */
function beginning(
  { preamble, body, trailer }: Pieces,
  part: (Fault & { readonly in: 'endless' })['part'],
): readonly Buffer[] {
  if (part === 'preamble') return [preamble.subarray(0, -1)]
  const data = body.length - trailer.length
  return [preamble, body.subarray(0, part === 'trailer' ? body.length - 1 : Math.floor(data / 2))]
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const changed = Buffer.from(bytes)
  const place = at % bytes.length
  changed[place] = (changed[place] ?? 0) ^ (1 << bit)
  return changed
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}

function otherTrailer(body: Buffer, trailer: Buffer, change: (told: Trailer) => Trailer): Buffer {
  const told = JSON.parse(trailer.subarray(4).toString()) as Trailer
  const text = Buffer.from(`${JSON.stringify(change(told))}\n`)
  return Buffer.concat([body.subarray(0, body.length - trailer.length), lengthOf(0), text])
}
