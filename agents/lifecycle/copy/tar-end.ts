/** A tar ends with two blocks of zeros. */
const endBytes = 1_024

/**
 * Sees a tar stream go by, and tells whether the stream had its end. `tar-stream` takes a stream that broke off between
 * two entries for a whole one.
 */
export class TarEnd {
  #last: Buffer = Buffer.alloc(0)
  #bytes = 0

  see(chunk: Buffer): void {
    this.#bytes += chunk.length
    const known = chunk.length >= endBytes ? chunk : Buffer.concat([this.#last, chunk])
    // A copy: the chunk itself would stay in memory, and is somebody else’s.
    this.#last = Buffer.from(known.subarray(Math.max(0, known.length - endBytes)))
  }

  /** Throws where the end is missing. */
  require(): void {
    if (this.#bytes === 0) throw new Error('the stream is empty: the source made no copy, or does not say why')
    if (this.#last.length < endBytes || this.#last.some((byte) => byte !== 0))
      throw new Error(`the stream broke off after ${this.#bytes} bytes: the end of the tar is missing`)
  }
}
