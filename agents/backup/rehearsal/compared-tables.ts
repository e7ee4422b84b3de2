import { described, RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { identifier } from '#agents/instance/accounts.ts'
import type { StillView } from '#agents/ports/server.ts'
import type { AnsweredRow, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { quoted, type TableName } from './checked-tables.ts'

type Asked = Pick<ThrowAwayServer, 'query'>

/** The longest time of a SELECT on the replica, where replicated DDL of a table waits for whoever reads that table. */
const longestMs = 600_000

/** Throws where a server that was restored and a replica have other tables at the same transactions. */
export function requireSameTables(restored: readonly TableName[], replica: readonly TableName[]): void {
  const [here, there] = [restored, replica].map((tables) => new Set(tables.map(quoted)))
  const lacking = replica.find((table) => here?.has(quoted(table)) !== true)
  if (lacking !== undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`table ${named(lacking)} is on the replica at the same transactions, and is not restored`,
    )
  const alien = restored.find((table) => there?.has(quoted(table)) !== true)
  if (alien !== undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`table ${named(alien)} is restored, and is not on the replica at the same transactions`,
    )
}

function named({ inSchema, name }: TableName) {
  return text(`${inSchema}.${name}`)
}

/**
 * Compares tables on a restored server with those on a replica, both at the same transactions: number of rows, and sums
 * over the checksums of all their columns. Throws where a table differs, or where only the replica can read a table.
 *
 * @returns the number of compared tables. A table does not count that the replica could not read: the table is too
 *   large for ten minutes, was changed meanwhile, or has a column of which the server makes no checksum
 */
export async function compareTables(
  restored: Asked,
  replica: Pick<StillView, 'query'>,
  tables: readonly TableName[],
  progress: (compared: number, all: number) => void,
): Promise<number> {
  let compared = 0
  for (const [at, table] of tables.entries()) {
    progress(at, tables.length)
    const sums = sumsOf(table, await columnsOf(restored, table))
    const limited = `SELECT /*+ MAX_EXECUTION_TIME(${longestMs}) */ ${sums}`
    const there = await answered(replica, limited).catch(refusalOf)
    if (there instanceof RegentError) continue
    const here = await answered(restored, `SELECT ${sums}`).catch(refusalOf)
    if (here instanceof RegentError)
      throw new RegentError(
        'REGENT_REFUSED',
        say`table ${named(table)} cannot be read where it was restored, and a replica has ${there}: ${described(here)}`,
      )
    if (there !== here)
      throw new RegentError(
        'REGENT_REFUSED',
        say`table ${named(table)} is restored otherwise than a replica has it at the same transactions: ${here} restored, ${there} on the replica`,
      )
    compared += 1
  }
  return compared
}

/** Invisible columns are among them. */
async function columnsOf(server: Asked, table: TableName): Promise<readonly string[]> {
  const rows = await server.query(`SHOW COLUMNS FROM ${quoted(table)}`)
  return rows.map((row) => String(row['Field']))
}

/** NULL and the empty text differ; so do values that move from one column to the next. */
function sumsOf(table: TableName, columns: readonly string[]): string {
  const ofColumns = columns.map((column) => `IFNULL(CRC32(${identifier(column)}), 'null')`).join(', ')
  const ofRow = `CRC32(CONCAT_WS('#', ${ofColumns}))`
  return `COUNT(*) AS n, IFNULL(BIT_XOR(${ofRow}), 0) AS x, IFNULL(SUM(${ofRow}), 0) AS s FROM ${quoted(table)}`
}

/** `3 rows with sums 17/20` */
async function answered(server: Asked, select: string): Promise<string> {
  const [row] = await server.query(select)
  return shown(row ?? {})
}

/** What the server said of the statement. Throws what has another reason. */
function refusalOf(error: unknown): RegentError {
  if (error instanceof RegentError && error.code === 'REGENT_SERVER_ERROR') return error
  throw error
}

function shown({ n, x, s }: AnsweredRow): string {
  return `${String(n)} rows with sums ${String(x)}/${String(s)}`
}
