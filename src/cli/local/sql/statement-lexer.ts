const codes = {
  newline: 10,
  bang: 33,
  double: 34,
  hash: 35,
  quote: 39,
  star: 42,
  dash: 45,
  slash: 47,
  semicolon: 59,
  backslash: 92,
  back: 96,
} as const
const quotes: ReadonlySet<number> = new Set([codes.quote, codes.double, codes.back])
const white: ReadonlySet<number> = new Set([' ', '\t', '\r', '\n'].map((letter) => letter.charCodeAt(0)))

type Inside = 'text' | 'string' | 'remark' | 'comment'

/** Follows statements as the mysql client reads them, byte by byte: where one begins and ends, and what is a string. */
export class StatementLexer {
  /** What ends a statement; another one while a body is defined (the client's DELIMITER). */
  delimiter = ';'
  #inside: Inside = 'text'
  #quote = 0
  #before = 0
  #dashes = 0
  /** Bytes of the statement so far, without white space and remarks. */
  #bytes = 0

  /** Nothing of a statement has come yet. */
  get begins(): boolean {
    return this.#inside === 'text' && this.#bytes === 0
  }

  /** Takes one byte, and says whether a statement ends with it, or a line outside of strings and remarks. */
  take(byte: number): 'statement' | 'line' | null {
    const before = this.#before
    this.#before = byte
    if (this.#inside === 'string') this.#takeInString(byte, before)
    else if (this.#inside === 'text') return this.#takeText(byte, before)
    else this.#takeRemark(byte, before)
    return null
  }

  beginAnew(): void {
    this.#bytes = 0
  }

  #takeText(byte: number, before: number): 'statement' | 'line' | null {
    const isRemark = byte === codes.hash || (this.#dashes > 1 && white.has(byte))
    this.#bytes += this.#counted(byte, before, isRemark)
    this.#dashes = byte === codes.dash ? this.#dashes + 1 : 0
    if (byte === codes.newline) return 'line'
    this.#inside = isRemark ? 'remark' : insideFrom(byte, before)
    this.#quote = byte
    if (byte !== codes.semicolon || this.delimiter !== ';') return null
    this.#bytes = 0
    return 'statement'
  }

  /** What began a remark was none of the statement. */
  #counted(byte: number, before: number, isRemark: boolean): number {
    if (isRemark) return byte === codes.hash ? 0 : -2
    if (insideFrom(byte, before) === 'comment') return -1
    return white.has(byte) ? 0 : 1
  }

  /** An escaped byte escapes nothing itself. */
  #takeInString(byte: number, before: number): void {
    if (before === codes.backslash && this.#quote !== codes.back) this.#before = 0
    else if (byte === this.#quote) this.#inside = 'text'
  }

  #takeRemark(byte: number, before: number): void {
    const isOver = this.#inside === 'remark' ? byte === codes.newline : byte === codes.slash && before === codes.star
    if (isOver) this.#inside = 'text'
    if (this.#inside !== 'comment' || byte !== codes.bang || before !== codes.star) return
    // What `/*!` begins is run by the server: strings are in it.
    this.#inside = 'text'
    this.#bytes += 1
  }
}

function insideFrom(byte: number, before: number): Inside {
  if (quotes.has(byte)) return 'string'
  return byte === codes.star && before === codes.slash ? 'comment' : 'text'
}
