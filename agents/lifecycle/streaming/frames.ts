import { createHash, type Hash } from 'node:crypto'
import { Transform, type TransformCallback } from 'node:stream'

/**
 * Regent's own form of a stream, spoken where the client asks for frames: the stream of KubeBlocks has no end mark, so
 * that a failed dump looks like a whole one. A line with what the client asked for, frames of a length (four bytes, the
 * greatest first) and so many bytes, a frame of length 0, and one line of JSON.
 */
export interface Trailer {
  /** 0, or −1 where the data is not whole. */
  readonly code: 0 | -1
  readonly message: string
  readonly bytes: number
  /** The digest of all data, in hexadecimal. */
  readonly sha256: string
}

/** The line that a server begins with, so that a client knows of the frames. */
export function preambleOf(framing: string): string {
  return `REGENT-STREAM/1 ${framing}\n`
}

/** Counts and hashes data, and puts it into frames. */
export class Framer {
  readonly #hash: Hash = createHash('sha256')
  #bytes = 0

  /** The frame of a chunk that is not empty. */
  frame(chunk: Buffer): readonly Buffer[] {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    return [lengthOf(chunk.length), chunk]
  }

  /** The end of the stream. `message` is why the data is not whole, '' where it is. */
  trailer(message: string): Buffer {
    const trailer: Trailer = {
      code: message === '' ? 0 : -1,
      message,
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
    }
    return Buffer.concat([lengthOf(0), Buffer.from(`${JSON.stringify(trailer)}\n`)])
  }
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}

/** With its line break. */
const longestTrailer = 16 * 1024
const longestFrame = 16 * 1024 * 1024

/**
 * Takes frames apart. The end of its output means that everything came, and unchanged; anything else is an error. A
 * stream that does not begin with the preamble is handed on as it is: a server of KubeBlocks sent it.
 */
export class Unframer extends Transform {
  readonly #preamble: Buffer
  readonly #hash: Hash = createHash('sha256')
  #waiting: Buffer = Buffer.alloc(0)
  #state: 'preamble' | 'raw' | 'length' | 'data' | 'trailer' | 'whole' = 'preamble'
  /** Bytes of the frame under way that are still to come. */
  #left = 0
  /** Data that was handed on. */
  bytes = 0

  constructor(framing: string) {
    super()
    this.#preamble = Buffer.from(preambleOf(framing))
  }

  /** Whether the server spoke in frames, known once data came. */
  get isFramed(): boolean {
    return this.#state !== 'preamble' && this.#state !== 'raw'
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk])
    try {
      while (this.#step());
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _flush(done: TransformCallback): void {
    if (this.#state === 'whole' || this.#state === 'raw') return done()
    const isEmpty = this.#state === 'preamble' && this.#waiting.length === 0
    done(
      new Error(
        isEmpty
          ? 'the source ended the connection without a byte: it has no such action, or refused the token'
          : `the stream broke off after ${this.bytes} bytes`,
      ),
    )
  }

  /** Takes one thing off what waits; false where more must come first. */
  #step(): boolean {
    switch (this.#state) {
      case 'preamble':
        return this.#begin()
      case 'raw':
        return this.#handOnAll()
      case 'length':
        return this.#readLength()
      case 'data':
        return this.#readData()
      case 'trailer':
        return this.#readTrailer()
      case 'whole':
        if (this.#waiting.length > 0) throw new Error('the stream goes on after its end')
        return false
    }
  }

  #begin(): boolean {
    const known = Math.min(this.#waiting.length, this.#preamble.length)
    if (!this.#waiting.subarray(0, known).equals(this.#preamble.subarray(0, known))) this.#state = 'raw'
    else if (known < this.#preamble.length) return false
    else {
      this.#take(known)
      this.#state = 'length'
    }
    return true
  }

  #handOnAll(): boolean {
    if (this.#waiting.length > 0) this.#handOn(this.#take(this.#waiting.length))
    return false
  }

  #readLength(): boolean {
    if (this.#waiting.length < 4) return false
    this.#left = this.#take(4).readUInt32BE()
    if (this.#left > longestFrame) throw new Error(`a frame of ${this.#left} bytes is longer than any`)
    this.#state = this.#left === 0 ? 'trailer' : 'data'
    return true
  }

  #readData(): boolean {
    if (this.#waiting.length === 0) return false
    const part = this.#take(Math.min(this.#left, this.#waiting.length))
    this.#left -= part.length
    this.#hash.update(part)
    this.#handOn(part)
    if (this.#left === 0) this.#state = 'length'
    return true
  }

  #readTrailer(): boolean {
    const end = this.#waiting.indexOf('\n')
    if (end < 0 && this.#waiting.length <= longestTrailer) return false
    const trailer = trailerIn(this.#take(end + 1))
    if (trailer.code !== 0) throw new Error(`the source failed: ${trailer.message}`)
    if (trailer.bytes !== this.bytes || trailer.sha256 !== this.#hash.digest('hex'))
      throw new Error(`the ${this.bytes} bytes that came are not the ${trailer.bytes} bytes that were sent`)
    this.#state = 'whole'
    return true
  }

  #take(length: number): Buffer {
    const taken = this.#waiting.subarray(0, length)
    this.#waiting = this.#waiting.subarray(length)
    return taken
  }

  #handOn(part: Buffer): void {
    this.bytes += part.length
    this.push(part)
  }
}

/** Throws for a line that no server of Regent ends with; an empty one is none. */
function trailerIn(line: Buffer): Trailer {
  const trailer = line.length > longestTrailer ? undefined : parsed(line.toString())
  if (isTrailer(trailer)) return trailer
  throw new Error('the end of the stream is not understood')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTrailer(value: unknown): value is Trailer {
  if (typeof value !== 'object' || value === null) return false
  const { code, message, bytes, sha256 } = value as Partial<Trailer>
  const isOutcome = (code === 0 || code === -1) && typeof message === 'string'
  return isOutcome && Number.isSafeInteger(bytes) && typeof sha256 === 'string'
}
