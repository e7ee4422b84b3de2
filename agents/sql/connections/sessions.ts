import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { groupUser } from '#agents/instance/accounts.ts'
import { numberOf, textOf, type Sql } from './statements.ts'
import { errnoOf } from './failure.ts'

/** `ER_NO_SUCH_THREAD`: who is gone already need not be killed. */
const noSuchThread = 1094
/** How long a killed session may take to be seen gone, unless somebody has more time. */
const goneMs = 2_000

/** What runs longer counts as busy; shorter statements end by themselves, and others follow them for ever. */
const busyMicros = 100_000

/** By whatever account the agent is let in. */
export const ownUser = "SUBSTRING_INDEX(USER(), '@', 1)"

/**
 * Sessions of people and applications, and events that run. Not the agent's, nor replicas' (they replicate or clone,
 * and write nothing), nor the server's own threads; nor logins under way: a replica's may be among them, and
 * `offline_mode` refuses the others at their end.
 */
export const foreign = String.raw`t.PROCESSLIST_ID IS NOT NULL
  AND t.NAME NOT LIKE 'thread/sql/replica%' AND t.NAME NOT LIKE 'thread/sql/slave%'
  AND t.NAME <> 'thread/sql/event_scheduler' AND t.PROCESSLIST_USER IS NOT NULL
  AND t.PROCESSLIST_USER NOT IN (${ownUser}, 'system user', 'event_scheduler', 'unauthenticated user')
  AND t.PROCESSLIST_USER NOT LIKE 'regent\_r\_%' AND t.PROCESSLIST_USER <> '${groupUser}'
  AND t.PROCESSLIST_COMMAND NOT LIKE 'Binlog Dump%'`

const readForeign = `SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user FROM performance_schema.threads t WHERE ${foreign}`
const rollingBack = `SELECT trx_mysql_thread_id AS id FROM information_schema.INNODB_TRX WHERE trx_state = 'ROLLING BACK'`

/**
 * Ends every session but the agent's own and the replicas', one by one: `offline_mode` spares those with
 * CONNECTION_ADMIN. Resolves when each is gone or can answer its client no more (killed, and rolling back).
 */
export async function killForeignSessions(sql: Sql, deadlineMs = goneMs): Promise<void> {
  const left = new Map<number, string>()
  const killed = new Set<number>()
  const gone = await sql.until(async () => {
    left.clear()
    for (const row of await sql.read(readForeign)) left.set(numberOf(row, 'id'), textOf(row, 'user'))
    if (left.size === 0) return true
    // Its row in the process list stays as it was until the rollback is over (9.7): only InnoDB tells.
    const undone = killed.size === 0 ? [] : await sql.read(rollingBack)
    for (const row of undone) if (killed.has(numberOf(row, 'id'))) left.delete(numberOf(row, 'id'))
    for (const id of left.keys()) {
      await kill(sql, id)
      killed.add(id)
    }
    return left.size === 0
  }, deadlineMs)
  if (gone) return
  const told = [...left].map(([id, user]) => `session ${id} of ${user}`).join(', ')
  throw new RegentError('REGENT_SERVER_TIMEOUT', say`killed and still there after ${deadlineMs} ms: ${reported(told)}`)
}

/** How many sessions `killForeignSessions` would end. */
export async function foreignSessions(sql: Sql): Promise<number> {
  const [row] = await sql.read(`SELECT COUNT(*) AS sessions FROM performance_schema.threads t WHERE ${foreign}`)
  return numberOf(row, 'sessions')
}

/** Ends these sessions; whoever waits for their rollbacks looks for them. */
export async function killSessions(sql: Sql, ids: readonly number[]): Promise<void> {
  for (const id of ids) await kill(sql, id)
}

/** Foreign sessions with a statement or a transaction older than a moment. */
export async function busySessions(sql: Sql): Promise<number> {
  return (await busyIds(sql)).length
}

/**
 * Ends sessions that are busy now, and waits until none of them is any more: a transaction that was ended may have to
 * be undone. A session that becomes busy meanwhile is left alone: under load there is always one.
 */
export async function endBusySessions(sql: Sql, deadlineMs = goneMs): Promise<void> {
  const ended = await busyIds(sql)
  await killSessions(sql, ended)
  let left: readonly number[] = ended
  const gone = await sql.until(async () => {
    if (left.length > 0) left = (await busyIds(sql)).filter((id) => ended.includes(id))
    return left.length === 0
  }, deadlineMs)
  if (gone) return
  const told = left.map((id) => `session ${id}`).join(', ')
  throw new RegentError('REGENT_SERVER_TIMEOUT', say`killed and still there after ${deadlineMs} ms: ${reported(told)}`)
}

async function busyIds(sql: Sql): Promise<readonly number[]> {
  const rows = await sql.read(`SELECT DISTINCT t.PROCESSLIST_ID AS id FROM performance_schema.threads t
    LEFT JOIN performance_schema.events_transactions_current x ON x.THREAD_ID = t.THREAD_ID AND x.STATE = 'ACTIVE' AND x.AUTOCOMMIT = 'NO'
    LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND t.PROCESSLIST_COMMAND <> 'Sleep'
    WHERE ${foreign} AND (x.TIMER_WAIT > ${busyMicros} * 1000000 OR s.TIMER_WAIT > ${busyMicros} * 1000000)`)
  return rows.map((row) => numberOf(row, 'id'))
}

export async function kill(sql: Sql, id: number, what: 'CONNECTION' | 'QUERY' = 'CONNECTION'): Promise<void> {
  try {
    await sql.change(`KILL ${what} ${id}`)
  } catch (error) {
    if (errnoOf(error) !== noSuchThread) throw error
  }
}
