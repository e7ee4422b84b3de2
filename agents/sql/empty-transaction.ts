import { literal } from '../instance/accounts.ts'
import type { SqlPool } from './connections/pool.ts'

/**
 * In one message, so that the session is the same for all of it. A GTID that the server has is skipped by the server
 * (manual, "GTID Life Cycle"). Never ended: killed while it waits, it would commit unacknowledged. A session that
 * failed in the middle still has the GTID of that one: it is dropped.
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
