import { literal } from '#agents/instance/accounts.ts'
import { numberOf, type Sql } from '../connections/statements.ts'

/** Removing a file of many gigabytes takes its time on some file systems. */
const purgeMs = 10_000
/** A few files are written and synced. */
const rotateMs = 1_000

export async function beginBinlogAfter(sql: Sql, bytes: number): Promise<void> {
  // Not the status of the newest alone: its statement has another name since 8.2.
  const files = await sql.read('SHOW BINARY LOGS')
  if (numberOf(files.at(-1), 'File_size') > bytes) await sql.change('FLUSH LOCAL BINARY LOGS', rotateMs)
}

export async function purgeBinlogsBefore(sql: Sql, file: string): Promise<void> {
  await sql.change(`PURGE BINARY LOGS TO ${literal(file)}`, purgeMs)
}
