import { createHash } from 'node:crypto'

/** A part of the content, with its SHA-256, which was computed while the part was filled. */
export interface FilledPart {
  readonly content: Uint8Array
  readonly digest: Buffer
  /** Nothing comes behind. */
  readonly isLast: boolean
}

/** Small objects need no buffer of the size of a part. */
const firstBufferBytes = 262_144

/** Cuts content of unknown length into parts, in buffers that are used again. */
export class PartReader {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #signal: AbortSignal | undefined
  readonly #free: Buffer[] = []
  #rest: Uint8Array = new Uint8Array()
  #isEnded = false
  /** Number of the buffers that were made. */
  #made = 0

  constructor(content: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    this.#source = content[Symbol.asyncIterator]()
    this.#signal = signal
  }

  /** The next part, of `bytes` or, at the end, fewer. */
  async read(bytes: number): Promise<FilledPart> {
    const hash = createHash('sha256')
    let buffer = this.#buffer(bytes)
    let length = 0
    while (length < bytes && (await this.#hasMore())) {
      const piece = this.#rest.subarray(0, bytes - length)
      buffer = withRoomFor(length + piece.length, buffer, bytes)
      buffer.set(piece, length)
      hash.update(piece)
      length += piece.length
      this.#rest = this.#rest.subarray(piece.length)
    }
    const isLast = !(await this.#hasMore())
    return { content: buffer.subarray(0, length), digest: hash.digest(), isLast }
  }

  /** The part's buffer may be filled again. */
  giveBack({ content }: FilledPart): void {
    this.#free.push(Buffer.from(content.buffer))
  }

  /** Lets the source end, where it has not. */
  async close(): Promise<void> {
    if (!this.#isEnded) await this.#source.return?.()
  }

  async #hasMore(): Promise<boolean> {
    while (this.#rest.length === 0 && !this.#isEnded) {
      this.#signal?.throwIfAborted()
      const next = await this.#source.next()
      if (next.done === true) this.#isEnded = true
      else this.#rest = next.value
    }
    return this.#rest.length > 0
  }

  /** Buffers that are too small for the parts that come now are let go. */
  #buffer(bytes: number): Buffer {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) if (free.length >= bytes) return free
    this.#made += 1
    return Buffer.allocUnsafeSlow(this.#made === 1 ? Math.min(bytes, firstBufferBytes) : bytes)
  }
}

function withRoomFor(needed: number, buffer: Buffer, mostBytes: number): Buffer {
  if (needed <= buffer.length) return buffer
  const larger = Buffer.allocUnsafeSlow(Math.min(mostBytes, Math.max(needed, buffer.length * 4)))
  larger.set(buffer)
  return larger
}
