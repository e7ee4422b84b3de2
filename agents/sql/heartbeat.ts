import type { Row } from './connections/statements.ts'
import { isTableMissing } from './connections/failure.ts'
import { flagOf } from './connections/statements.ts'

/** Somebody's lock is no reason to wait for long: the next heartbeat says the same. */
export const heartbeatSession = 'lock_wait_timeout = 1, innodb_lock_wait_timeout = 1'

/**
 * The server asks itself, as it writes: an agent's session may write where `read_only` is on and `super_read_only` is
 * off, as a replica is while its accounts are changed. There this writes no row, and so no transaction.
 */
const beat = 'REPLACE INTO regent.heartbeat (id, at) SELECT 1, UTC_TIMESTAMP(6) FROM DUAL WHERE @@global.read_only = 0'

/**
 * Writes the time into the one row of the heartbeat, binary log on; resolves when that is acknowledged, however long
 * that takes. The table is made by the first one, and so by replication everywhere.
 */
export async function writeHeartbeat(query: (statement: string) => Promise<readonly Row[]>): Promise<void> {
  try {
    await query(beat)
  } catch (error) {
    if (!isTableMissing(error)) throw error
    const [row] = await query('SELECT @@global.read_only AS readOnly')
    if (flagOf(row, 'readOnly')) return
    await query(
      'CREATE TABLE IF NOT EXISTS regent.heartbeat (id TINYINT UNSIGNED NOT NULL PRIMARY KEY, at DATETIME(6) NOT NULL) ENGINE=InnoDB',
    )
    await query(beat)
  }
}
