import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { gtidsOf, numberOf, textOf, type Sql } from '../connections/statements.ts'

export const ownedStatement = 'SELECT @@global.gtid_owned AS owned'
export const receivedStatement = `SELECT RECEIVED_TRANSACTION_SET AS received, QUEUEING_TRANSACTION AS arriving
  FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = ''`
export const executedStatement = 'SELECT @@global.gtid_executed AS executed'

/** The applier's threads, by the id that KILL and `gtid_owned` know. */
export const threadsStatement = (kind: 'worker' | 'coordinator') =>
  `SELECT t.PROCESSLIST_ID AS id FROM performance_schema.replication_applier_status_by_${kind}
  JOIN performance_schema.threads AS t USING (THREAD_ID) WHERE CHANNEL_NAME = ''`

/**
 * `@@global.gtid_owned` is printed as `uuid:number#thread:number#thread, uuid:…`: transactions that have a GTID and are
 * not committed, with the thread that owns each (manual, "gtid_owned"). As a GTID set, it has no threads.
 * @param except threads (PROCESSLIST_ID) whose transactions are left out
 */
export function ownedSet(printed: string, except: ReadonlySet<number> = new Set()): GtidText {
  return printed
    .replace(/\s+/g, '')
    .split(',')
    .flatMap((source) => gtidsOfSource(source, except))
    .join()
}

/** GTIDs of one `uuid:number#thread:tag:number#thread…`. A tag counts for the numbers behind the tag. */
function gtidsOfSource(source: string, except: ReadonlySet<number>): readonly string[] {
  const [uuid = '', ...parts] = source.split(':')
  let prefix = uuid
  return parts.flatMap((part) => {
    const [number = '', thread] = part.split('#')
    if (thread === undefined) prefix = `${uuid}:${part}`
    return thread === undefined || except.has(Number(thread)) ? [] : [`${prefix}:${number}`]
  })
}

/** How many transactions are owned. */
export function ownedCount(printed: string): number {
  return printed.match(/#\d+/g)?.length ?? 0
}

export interface Owned {
  readonly whole: GtidText
  /**
   * Received in part. An applier owns a transaction from the first event on. A source that dies while sending a large
   * transaction leaves a part: nobody can commit the part, and nobody acknowledged the transaction.
   */
  readonly partial: GtidText
}

export interface Seen {
  /** As the server prints `gtid_owned`. */
  readonly printed: string
  /** Read before; undefined without a channel. */
  readonly received: GtidText | undefined
  /** Read after. */
  readonly executed: GtidText
}

/**
 * Tells what is whole from what is not. Where a server with a channel owns what is neither received nor executed, the
 * server is asked again, in the order in which a transaction moves on.
 */
export async function judgeOwned(sql: Sql, seen: Seen, deadlineMs?: number): Promise<Owned> {
  const owned = ownedSet(seen.printed)
  const known = unionOf([seen.received, seen.executed])
  const all = parseGtidSet(owned)
  const doubtful = all.subtract(known)
  if (seen.received === undefined || doubtful.isEmpty()) return { whole: owned, partial: '' }
  const statements = [ownedStatement, threadsStatement('worker'), receivedStatement, executedStatement] as const
  const [[later], appliers, [received], [executed]] = await sql.readAll(statements, deadlineMs)
  const ofClients = ownedSet(textOf(later, 'owned'), new Set(appliers.map((row) => numberOf(row, 'id'))))
  const whole = unionOf([ofClients, gtidsOf(received, 'received'), gtidsOf(executed, 'executed')])
  const partial = doubtful.subtract(whole)
  return { whole: all.subtract(partial).toString(), partial: partial.toString() }
}
