import { createHash } from 'node:crypto'

/** Counts the bytes that went by, and makes their SHA-256. */
export class Tally {
  readonly #hash = createHash('sha256')
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** The sum in hexadecimal digits; asked once, at the end. */
  sum(): string {
    return this.#hash.digest('hex')
  }

  /** The sum so far; more may come. */
  sumSoFar(): string {
    return this.#hash.copy().digest('hex')
  }

  async *watching<T extends Uint8Array>(content: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    for await (const chunk of content) {
      this.#hash.update(chunk)
      this.#bytes += chunk.length
      yield chunk
    }
  }
}
