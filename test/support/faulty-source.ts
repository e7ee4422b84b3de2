import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Framer, preambleOf, type Trailer } from '../../agents/lifecycle/streaming/frames.ts'
import { freePort } from './redis-server.ts'

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
  /** A frame says that so many bytes follow. */
  | { readonly in: 'frame'; readonly length: number }

export interface FaultyStream {
  /** The data, as frames of these. */
  readonly parts: readonly Buffer[]
  readonly fault: Fault
  /** Where the stream is cut into writes. */
  readonly places: readonly number[]
}

/** A streaming server that speaks in frames as an agent does, and is wrong in one thing. */
export class FaultySource {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #stream: FaultyStream | undefined

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
    return this
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
      const isReset = stream.fault.in === 'length' && stream.fault.then === 'resets'
      const pieces = cut(bytesOf(stream, framing), stream.places)
      const send = (index: number): void => {
        const piece = pieces[index]
        if (socket.destroyed) return
        if (piece !== undefined) socket.write(piece, () => setImmediate(send, index + 1))
        else if (isReset) socket.resetAndDestroy()
        else socket.end()
      }
      send(0)
    })
  }
}

function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length))
}

function bytesOf({ parts, fault }: FaultyStream, framing: string): Buffer {
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

function damaged({ preamble, body, trailer }: Pieces, fault: Fault): readonly Buffer[] {
  switch (fault.in) {
    case 'nothing':
    case 'code':
      return [preamble, body]
    case 'length':
      return [preamble, body.subarray(0, fault.at % body.length)]
    case 'bit':
      return [preamble, flipped(body, fault.at, fault.bit)]
    case 'preamble':
      return [flipped(preamble, fault.at, 0), body]
    case 'count':
      return [preamble, otherTrailer(body, trailer, (told) => ({ ...told, bytes: told.bytes + fault.by }))]
    case 'checksum':
      return [preamble, otherTrailer(body, trailer, (told) => ({ ...told, sha256: told.sha256.replace(/^./, 'x') }))]
    case 'after':
      return [preamble, body, fault.more]
    case 'frame':
      return [preamble, lengthOf(fault.length), body]
  }
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
