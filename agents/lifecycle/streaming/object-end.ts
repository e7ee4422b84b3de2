/** KubeBlocks' client sends no more; the rest is for the token. */
export const longestHandshake = 8_192

/**
 * Finds the end of the JSON object that a client sends first: nothing else marks it. Bytes are given as they come.
 * Quotes and brackets are ASCII, and no part of any other character in UTF-8.
 */
export class ObjectEnd {
  #depth = 0
  #inText = false
  #isEscaped = false

  /** How many of these bytes belong to the object, undefined where the object goes on. Throws for no object. */
  find(bytes: Uint8Array): number | undefined {
    for (const [at, byte] of bytes.entries()) if (this.#take(byte)) return at + 1
    return undefined
  }

  #take(byte: number): boolean {
    if (this.#inText) this.#takeInText(byte)
    else if (byte === quote) this.#inText = this.#within()
    else if (byte === openBrace || byte === openBracket) this.#depth += byte === openBrace || this.#within() ? 1 : 0
    else if (byte === closeBrace || byte === closeBracket) return this.#close()
    else if (!whiteSpace.has(byte)) this.#within()
    return false
  }

  #takeInText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) this.#inText = false
  }

  #close(): boolean {
    this.#within()
    this.#depth -= 1
    return this.#depth === 0
  }

  #within(): true {
    if (this.#depth === 0) throw new Error('it is no JSON object')
    return true
  }
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [...Buffer.from('"\\{}[]')]
const whiteSpace: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'))
