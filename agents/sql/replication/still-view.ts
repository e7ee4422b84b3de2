import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { StillView } from '#agents/ports/server.ts'
import type { SqlConnection } from '../connections/connection.ts'
import { gtidsOf, numberOf } from '../connections/statements.ts'
import type { ReplicationSql } from './replication.ts'

const begin = [
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
  'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY',
]
/** In one statement: an applier that somebody else has started is seen to run. */
const look = `SELECT @@GLOBAL.gtid_executed AS executed, (SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE <> 'OFF') AS applying`

/**
 * Begins a view between two transactions of the applier: only where nothing is applied does `gtid_executed` name what
 * a snapshot holds. A transaction is visible before its GTID is (manual, "Setting Up Replication Using GTIDs").
 */
export async function stillView(
  replication: Pick<ReplicationSql, 'stopApplier' | 'startApplier'>,
  open: () => Promise<SqlConnection>,
  select: string,
): Promise<StillView> {
  const connection = await open()
  try {
    const seen = await seenWhileStill(replication, connection, select)
    return {
      ...seen,
      query: (select) => withoutLocks(connection, select),
      end: () => connection.destroy(),
    }
  } catch (error) {
    connection.destroy()
    throw error
  }
}

async function seenWhileStill(
  replication: Pick<ReplicationSql, 'stopApplier' | 'startApplier'>,
  connection: SqlConnection,
  select: string,
): Promise<Pick<StillView, 'gtids' | 'there'>> {
  try {
    await replication.stopApplier()
    // Before the transaction, which would keep what the answer locks.
    const there = await connection.query(select)
    for (const statement of begin) await connection.query(statement)
    const [row] = await connection.query(look)
    if (numberOf(row, 'applying') > 0)
      throw new RegentError('REGENT_BUSY', say`the applier was started while it had to rest`)
    return { gtids: gtidsOf(row, 'executed'), there }
  } finally {
    await replication.startApplier()
  }
}

/** A metadata lock would keep replicated DDL waiting until the view ends; what goes back to a savepoint has none. */
async function withoutLocks(connection: SqlConnection, select: string) {
  await connection.query('SAVEPOINT before_select')
  try {
    return await connection.query(select)
  } finally {
    if (connection.isOpen) await connection.query('ROLLBACK TO SAVEPOINT before_select')
  }
}
