import { RegentError } from '../src/common/errors.ts'
import type { World } from '../src/common/ports.ts'
import type { DumpThread } from '../topology/observation.ts'
import type { SqlConnection } from './sql-connection.ts'

/** Statements that run longer, and transactions that are open longer, count as busy; short ones end by themselves. */
const busyMs = 100

const foreign = "t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID <> CONNECTION_ID() AND t.PROCESSLIST_USER <> 'regent' AND t.PROCESSLIST_COMMAND NOT LIKE 'Binlog Dump%'"

/** Ends every session but the agent's own and dump threads, one by one: `offline_mode` spares those with CONNECTION_ADMIN. */
export async function killForeignSessions(sql: SqlConnection, deadlineMs: number): Promise<void> {
  const rows = await sql.query(`SELECT t.PROCESSLIST_ID AS id FROM performance_schema.threads t WHERE ${foreign} AND t.PROCESSLIST_USER IS NOT NULL AND t.PROCESSLIST_USER <> 'event_scheduler'`, deadlineMs)
  for (const row of rows) await killConnection(sql, Number(row['id']), deadlineMs)
}

/** A session that is gone already is as good as killed. */
async function killConnection(sql: SqlConnection, id: number, deadlineMs: number): Promise<void> {
  try {
    await sql.query(`KILL CONNECTION ${id}`, deadlineMs)
  } catch (error) {
    if (!(error instanceof RegentError) || error.code !== 'REGENT_SERVER_ERROR') throw error
  }
}

/** Sessions with a statement or transaction older than a moment. */
export async function busySessions(sql: SqlConnection, deadlineMs: number): Promise<number> {
  const [row] = await sql.query(
    `SELECT COUNT(DISTINCT t.THREAD_ID) AS busy FROM performance_schema.threads t LEFT JOIN performance_schema.events_transactions_current x ON x.THREAD_ID = t.THREAD_ID AND x.STATE = 'ACTIVE' AND x.AUTOCOMMIT = 'NO'
     LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL
     WHERE ${foreign} AND (x.TIMER_WAIT > ${busyMs}e9 OR s.TIMER_WAIT > ${busyMs}e9)`,
    deadlineMs,
  )
  return Number(row?.['busy'] ?? 0)
}

/** Kills dump threads and looks until they are gone: nothing signals that. Rejects with `REGENT_SERVER_TIMEOUT` when one stays. */
export async function killDumpThreads({ sql, deadlineMs, world }: { sql: SqlConnection; deadlineMs: number; world: World }, keep: (thread: DumpThread) => boolean): Promise<void> {
  const until = world.clock.monotonicMs() + deadlineMs * 2
  let unwanted = (await dumpThreads(sql, deadlineMs)).filter((thread) => !keep(thread))
  const doomed = new Set(unwanted.map((thread) => thread.threadId))
  for (const id of doomed) await killConnection(sql, id, deadlineMs)
  while (unwanted.length > 0) {
    if (world.clock.monotonicMs() > until) throw new RegentError('REGENT_SERVER_TIMEOUT', `dump thread ${unwanted[0]?.threadId} of ${unwanted[0]?.user} was killed and is still there`)
    await world.timers.sleep(2)
    unwanted = (await dumpThreads(sql, deadlineMs)).filter((thread) => doomed.has(thread.threadId))
  }
}

async function dumpThreads(sql: SqlConnection, deadlineMs: number): Promise<readonly DumpThread[]> {
  const rows = await sql.query("SELECT PROCESSLIST_ID AS id, PROCESSLIST_USER AS user, PROCESSLIST_HOST AS host FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'", deadlineMs)
  return rows.map((row) => ({ threadId: Number(row['id']), user: String(row['user']), host: String(row['host']), serverUuid: '', semiSync: false }))
}
