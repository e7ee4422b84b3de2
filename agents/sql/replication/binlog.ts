import { literal } from '#agents/instance/accounts.ts'
import type { SqlPool } from '../connections/pool.ts'
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

/**
 * Writes an empty transaction in one message, so that the session is the same for all of it. A GTID that the server has
 * is skipped by the server (manual, "GTID Life Cycle"). Never ended: killed while it waits, it would commit
 * unacknowledged. A session that failed in the middle still has the GTID of that transaction: the session is dropped.
 */
export async function writeEmpty(pool: SqlPool, gtid: string): Promise<void> {
  const statements = `SET gtid_next = ${literal(gtid)}; BEGIN; COMMIT; SET gtid_next = 'AUTOMATIC'`
  try {
    await pool.query(statements, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' })
  } catch (error) {
    pool.disconnect()
    throw error
  }
}
