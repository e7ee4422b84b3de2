export type Row = Readonly<Record<string, unknown>>

/** What the parts of the SQL server port share: statements with deadlines, and time. */
export interface Sql {
  /**
   * Gives a function that tells how many milliseconds are left of a deadline shared by several statements; at least 1.
   */
  countdown(deadlineMs: number): () => number
  /** Reads. A statement that passed its deadline is answered at once and ended in the background. */
  read(statement: string, deadlineMs?: number): Promise<readonly Row[]>
  /**
   * Reads with several statements, one after the other, in one message; the rows of each. The deadline is for all of
   * them.
   */
  readAll<const Statements extends readonly string[]>(
    statements: Statements,
    deadlineMs?: number,
  ): Promise<RowsOfEach<Statements>>
  /**
   * Changes something, binary log off. A statement that passed its deadline is ended in the server before this rejects.
   */
  change(statement: string, deadlineMs?: number): Promise<readonly Row[]>
  /**
   * The same for what must not be killed in the middle: past its deadline it goes on in the server, and this rejects.
   */
  changeUnbroken(statement: string, deadlineMs?: number): Promise<readonly Row[]>
  /**
   * Looks every `everyMs` (2) until `look` gives true, for what nothing signals. False when it has not after `waitMs`.
   */
  until(look: () => Promise<boolean>, waitMs: number, everyMs?: number): Promise<boolean>
}

export type RowsOfEach<Statements extends readonly string[]> = { readonly [At in keyof Statements]: readonly Row[] }

/** Between two looks at something that nothing signals. */
export const lookAgainMs = 2

export function textOf(row: Row | undefined, name: string): string {
  const value: unknown = row?.[name]
  if (Buffer.isBuffer(value)) return value.toString('utf8')
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

export function numberOf(row: Row | undefined, name: string): number {
  return Number(textOf(row, name))
}

/** A system variable that is on or off. */
export function flagOf(row: Row | undefined, name: string): boolean {
  return numberOf(row, name) === 1
}

/** A GTID set as MySQL prints it, without white space. */
export function gtidsOf(row: Row | undefined, name: string): string {
  return textOf(row, name).replace(/\s+/g, '')
}
