import { RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { identifier, literal } from '#agents/instance/accounts.ts'
import type { AnsweredRow, ThrowAwayServer } from '#agents/ports/throw-away.ts'

export interface TableName {
  readonly inSchema: string
  readonly name: string
}

export interface CheckedTables {
  readonly tables: readonly TableName[]
  readonly rows: number
}

/** Schemas of the server itself, and that of Regent, which makes its own anew. */
const others = ['mysql', 'sys', 'performance_schema', 'information_schema', 'regent']

/** Asks for every table of applications. */
export const tablesStatement =
  'SELECT TABLE_SCHEMA AS inSchema, TABLE_NAME AS name FROM information_schema.TABLES ' +
  `WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN (${others.map(literal).join(', ')}) ORDER BY 1, 2`

/**
 * Has the server check every table of applications, and counts their rows: the server reads each page of each index.
 * Throws with the server's words where a table is not as it should be, and where the server did not look into a table:
 * an unchecked table proves nothing.
 */
export async function checkTables(
  server: Pick<ThrowAwayServer, 'query'>,
  progress: (checked: number, all: number) => void,
): Promise<CheckedTables> {
  const tables = tablesIn(await server.query(tablesStatement))
  let rows = 0
  for (const [at, table] of tables.entries()) {
    progress(at, tables.length)
    rows += await checkTable(server, quoted(table))
  }
  return { tables, rows }
}

/** The tables that an answer to `tablesStatement` names. */
export function tablesIn(rows: readonly AnsweredRow[]): readonly TableName[] {
  return rows.map((row) => ({ inSchema: wordIn(row, 'inSchema'), name: wordIn(row, 'name') }))
}

export function quoted({ inSchema, name }: TableName): string {
  return `${identifier(inSchema)}.${identifier(name)}`
}

async function checkTable(server: Pick<ThrowAwayServer, 'query'>, table: string): Promise<number> {
  const said = await server.query(`CHECK TABLE ${table}`)
  const complaints = said.filter((row) => !isGood(row) && !isRemark(row))
  if (complaints.length > 0)
    throw new RegentError('REGENT_REFUSED', say`table ${text(table)} is not whole: ${text(wordsIn(complaints))}`)
  if (!said.some(isGood)) throw unchecked(table, wordsIn(said) || 'the server said nothing of that')
  const [counted] = await server.query(`SELECT COUNT(*) AS rows_there FROM ${table}`)
  if (counted === undefined) throw unchecked(table, 'the server did not count its rows')
  return Number(counted['rows_there'])
}

function unchecked(table: string, why: string): RegentError {
  return new RegentError('REGENT_REFUSED', say`table ${text(table)} was not checked: ${text(why)}`)
}

/** A remark is all that comes of an engine that cannot check a table. */
function isRemark(row: AnsweredRow): boolean {
  return /^(?:note|info)$/.test(wordIn(row, 'Msg_type'))
}

/** Only this row says that the server has looked into the table. */
function isGood(row: AnsweredRow): boolean {
  return wordIn(row, 'Msg_type') === 'status' && /^(?:OK|Table is already up to date)$/.test(wordIn(row, 'Msg_text'))
}

function wordsIn(rows: readonly AnsweredRow[]): string {
  return rows.map((row) => wordIn(row, 'Msg_text')).join('; ')
}

function wordIn(row: AnsweredRow, name: string): string {
  const value = row[name]
  return typeof value === 'string' || Buffer.isBuffer(value) ? String(value) : ''
}
