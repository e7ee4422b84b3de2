import { StatementLexer } from './statement-lexer.ts'

/** What a held statement sets: a default mysqldump begins and ends with these. */
const keepsFromReplicas = /^set\s[^]*?\b(sql_log_bin|gtid_purged)\b\s*:?=/i
const delimiterCommand = /^delimiter\s+(\S+)/i
/** A statement or a client command is held from its first letter on: `s` of SET, `d` of DELIMITER. */
const held: ReadonlySet<number> = new Set(['s', 'S', 'd', 'D'].map((letter) => letter.charCodeAt(0)))
const nowhere = Number.POSITIVE_INFINITY

/**
 * Leaves out of a stream of statements those that keep what follows from replicating: `SET SQL_LOG_BIN`, which writes
 * past the binary log, and `SET GTID_PURGED`, which claims what no replica can ever be sent. Strings, remarks and
 * bodies under another DELIMITER pass as they are, byte for byte.
 */
export class UnreplicatedStatements {
  /** Which variables the statements set that were left out. */
  readonly leftOut = new Set<string>()
  readonly #lexer = new StatementLexer()
  #held: Buffer = Buffer.alloc(0)

  /** What of this part, and of what was held before, passes. */
  push(part: Buffer): Buffer {
    const bytes = Buffer.concat([this.#held, part])
    const passed: Buffer[] = []
    let from = 0
    let heldFrom = this.#held.length > 0 ? 0 : nowhere
    for (let at = this.#held.length; at < bytes.length; at += 1) {
      const byte = bytes[at] as number
      if (this.#isHeldFrom(byte)) heldFrom = Math.min(heldFrom, at)
      const end = this.#lexer.take(byte)
      if (heldFrom === nowhere || end === null) continue
      const judged = this.#judge(end, bytes.toString('utf8', heldFrom, at + 1))
      if (judged === 'leave out') {
        passed.push(bytes.subarray(from, heldFrom))
        from = at + 1
      }
      if (judged !== 'hold') heldFrom = nowhere
    }
    const until = Math.min(heldFrom, bytes.length)
    this.#held = Buffer.from(bytes.subarray(until))
    return Buffer.concat([...passed, bytes.subarray(from, until)])
  }

  /** What was held to the end: a statement without its end is the client's to judge. */
  end(): Buffer {
    return this.#held
  }

  #isHeldFrom(byte: number): boolean {
    return held.has(byte) && this.#lexer.begins
  }

  #judge(end: 'statement' | 'line', text: string): 'hold' | 'pass' | 'leave out' {
    if (end === 'line') return this.#takesDelimiter(text) ? 'pass' : 'hold'
    const [, name] = keepsFromReplicas.exec(text) ?? []
    if (name === undefined) return 'pass'
    this.leftOut.add(name.toUpperCase())
    return 'leave out'
  }

  #takesDelimiter(text: string): boolean {
    const [, delimiter] = delimiterCommand.exec(text) ?? []
    if (delimiter === undefined) return false
    this.#lexer.delimiter = delimiter
    this.#lexer.beginAnew()
    return true
  }
}
