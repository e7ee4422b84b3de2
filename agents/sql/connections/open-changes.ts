import { manyRows, type OpenChange } from '#topology/snapshot/open-changes.ts'
import type { Row } from './statements.ts'
import { foreign } from './sessions.ts'
import { numberOf, textOf } from './statements.ts'

/**
 * Transactions of others with many changed rows. `trx_rows_modified` falls while one is rolled back. InnoDB makes the
 * table anew only for a reader before whom nobody has read the table for 100 ms: the join leaves out rows of a session
 * that is gone. On a server that is closed there is no new transaction, and the table is not asked.
 */
export const openChangesStatement = `SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, x.trx_rows_modified AS modified
  FROM information_schema.INNODB_TRX x JOIN performance_schema.threads t ON t.PROCESSLIST_ID = x.trx_mysql_thread_id
  WHERE @@global.super_read_only = 0 AND x.trx_rows_modified >= ${manyRows} AND ${foreign} ORDER BY 3 DESC`

export function openChangesIn(rows: readonly Row[]): readonly OpenChange[] {
  return rows.map((row) => ({
    session: numberOf(row, 'id'),
    user: textOf(row, 'user'),
    rows: numberOf(row, 'modified'),
  }))
}
