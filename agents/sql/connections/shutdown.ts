import type { Sql } from './statements.ts'
import { endReplicaSessions, killDumpThreads } from './dump-threads.ts'
import { killForeignSessions } from './sessions.ts'

/**
 * Shuts mysqld down in order, with nobody connected: it waits for eight seconds where a replica reads its binlog,
 * whether that reads on or not, and for two more where anybody is connected (`close_connections` in mysqld.cc; seen on
 * 9.7). A session that cannot be ended is left to the shutdown. The agent's own connections are to be closed right
 * after.
 */
export async function shutDown(sql: Sql): Promise<void> {
  const closed = sql.change('SET GLOBAL offline_mode = ON')
  await Promise.allSettled([
    closed.then(() => killForeignSessions(sql)),
    endReplicaSessions(sql, () => false),
    killDumpThreads(sql, () => false),
  ])
  await sql.change('SHUTDOWN')
}
