import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { DumpThread } from '#topology/snapshot/observation.ts'
import type { Row } from './statements.ts'
import { kill } from './sessions.ts'
import { numberOf, textOf, type Sql } from './statements.ts'

/**
 * Sessions of replicas, and how they are ended. `KILL CONNECTION` shuts a connection under the thread of mysqld that
 * reads acknowledgements. Where that thread has read half of one, it looks for the other half for ever, and the server
 * hears no replica any more (`Ack_receiver::run`, semisync_source_ack_receiver.cc; seen on 9.7). So a dump thread is
 * ended by `KILL QUERY`, as mysqld ends the earlier one of a replica that comes back, and its session after that.
 */

/** How long a session that was ended may take to be seen gone. */
const goneMs = 2_000
/** A dump thread that has not ended by then hangs in its connection, and is not heard either: cut all the same. */
const endsMs = 500
/**
 * Replicas that read this server's binary log, and whether they acknowledge: they say so in a variable of their
 * session.
 */
export const dumpThreadsStatement = `SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, t.PROCESSLIST_HOST AS host,
    MAX(CASE WHEN v.VARIABLE_NAME IN ('replica_uuid', 'slave_uuid') THEN v.VARIABLE_VALUE END) AS uuid,
    MAX(CASE WHEN v.VARIABLE_NAME IN ('rpl_semi_sync_replica', 'rpl_semi_sync_slave') THEN v.VARIABLE_VALUE END) AS semiSync
    FROM performance_schema.threads t LEFT JOIN performance_schema.user_variables_by_thread v ON v.THREAD_ID = t.THREAD_ID
    WHERE t.PROCESSLIST_COMMAND LIKE 'Binlog Dump%' GROUP BY 1, 2, 3`

const sessionsStatement =
  'SELECT PROCESSLIST_ID AS id, PROCESSLIST_USER AS user, PROCESSLIST_COMMAND AS command, PROCESSLIST_STATE AS state FROM performance_schema.threads'
/** Copies go on: they acknowledge nothing. */
const ofReplicas = String.raw`PROCESSLIST_USER LIKE 'regent\_r\_%' AND PROCESSLIST_COMMAND NOT LIKE 'Clone%'`

export function dumpThreadsIn(rows: readonly Row[]): readonly DumpThread[] {
  return rows.map((row) => ({
    threadId: numberOf(row, 'id'),
    user: textOf(row, 'user'),
    host: textOf(row, 'host'),
    serverUuid: textOf(row, 'uuid'),
    semiSync: textOf(row, 'semiSync') === '1',
  }))
}

/**
 * Ends dump threads for which `keep` is false. None of them sends anything by then, so nothing that is written later is
 * acknowledged through them. Gives their sessions, which `waitSessionsGone` ends.
 */
export async function killDumpThreads(sql: Sql, keep: (thread: DumpThread) => boolean): Promise<readonly number[]> {
  const ids = dumpThreadsIn(await sql.read(dumpThreadsStatement))
    .filter((thread) => !keep(thread))
    .map(({ threadId }) => threadId)
  if (ids.length === 0) return ids
  const ender = new Ender(sql)
  await sql.until(async () => {
    const sending = (await sql.read(sessionsOf(ids))).filter((row) => isDump(row) && !isEnding(row))
    for (const row of sending) await ender.end(row)
    return sending.length === 0
  }, 2 * endsMs)
  return ids
}

/**
 * Ends these sessions, and looks until they are gone: nothing signals that. Rejects with `REGENT_SERVER_TIMEOUT` when
 * one stays, and says what it is in.
 */
export async function waitSessionsGone(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await endSessions(sql, sessionsOf(ids), () => false)
}

/**
 * Ends every session of the replication accounts for which `keep` is false, and looks until there is none: one that has
 * logged in and not yet asked for the binlog is no dump thread, and would be one right after. Rejects with
 * `REGENT_SERVER_TIMEOUT` when one stays.
 */
export function endReplicaSessions(sql: Sql, keep: (user: string) => boolean): Promise<void> {
  return endSessions(sql, `${sessionsStatement} WHERE ${ofReplicas}`, keep)
}

async function endSessions(sql: Sql, statement: string, keep: (user: string) => boolean): Promise<void> {
  const ender = new Ender(sql)
  let left: readonly Row[] = []
  const gone = await sql.until(async () => {
    left = (await sql.read(statement)).filter((row) => !keep(textOf(row, 'user')))
    for (const row of left) await ender.end(row)
    return left.length === 0
  }, goneMs)
  const told = left.map((row) => `${textOf(row, 'id')} of ${textOf(row, 'user')} ("${textOf(row, 'state')}")`)
  if (!gone)
    throw new RegentError(
      'REGENT_SERVER_TIMEOUT',
      say`ended and not gone after ${goneMs} ms: session ${told.join(', ')}`,
    )
}

/** Does to each session what is next, seen again and again until it is gone. */
class Ender {
  readonly #sql: Sql
  readonly #asked = new Set<number>()
  readonly #leftMs: () => number

  constructor(sql: Sql) {
    this.#sql = sql
    this.#leftMs = sql.countdown(endsMs)
  }

  async end(row: Row): Promise<void> {
    if (textOf(row, 'command') === 'Killed' || isEnding(row)) return
    const id = numberOf(row, 'id')
    const wasAsked = this.#asked.has(id)
    if (!isDump(row) || (wasAsked && this.#leftMs() <= 1)) return kill(this.#sql, id)
    if (wasAsked) return
    this.#asked.add(id)
    await kill(this.#sql, id, 'QUERY')
  }
}

function sessionsOf(ids: readonly number[]): string {
  return `${sessionsStatement} WHERE PROCESSLIST_ID IN (${ids.join(', ')})`
}

function isDump(row: Row): boolean {
  return textOf(row, 'command').startsWith('Binlog Dump')
}

/** The dump thread sends nothing any more, and waits until nobody reads its acknowledgements. */
function isEnding(row: Row): boolean {
  return textOf(row, 'state') === 'Waiting to finalize termination'
}
