import type { Blocker } from '#agents/ports/server.ts'
import { numberOf, textOf, type Sql } from './statements.ts'
import type { Row } from './statements.ts'
import { foreign, kill, ownUser } from './sessions.ts'

/**
 * A session that holds the first, or waits for it, keeps others from what is named with it (manual, "Metadata Locking";
 * the lock types of performance_schema.metadata_locks).
 */
const inTheWay: Readonly<Record<string, readonly string[]>> = {
  INTENTION_EXCLUSIVE: ['SHARED', 'EXCLUSIVE'],
  SHARED: ['INTENTION_EXCLUSIVE', 'EXCLUSIVE'],
  SHARED_HIGH_PRIO: ['EXCLUSIVE'],
  SHARED_READ: ['SHARED_NO_READ_WRITE', 'EXCLUSIVE'],
  SHARED_WRITE: ['SHARED_READ_ONLY', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE'],
}

/** The applier, whoever started it: a member of a group applies in the name of the session that had it join. */
const applier = `(me.NAME LIKE 'thread/sql/replica%' OR me.NAME LIKE 'thread/sql/slave%')`

const columns = `t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, t.PROCESSLIST_HOST AS host,
  t.PROCESSLIST_TIME AS seconds,
  IF(${applier}, 'the applier', SUBSTRING_INDEX(me.PROCESSLIST_INFO, ' ', 2)) AS behind,
  EXISTS (SELECT 1 FROM performance_schema.metadata_locks c
    WHERE c.OWNER_THREAD_ID = t.THREAD_ID AND c.OBJECT_TYPE = 'COMMIT' AND c.LOCK_TYPE = 'INTENTION_EXCLUSIVE') AS commits`

/**
 * The agent's own sessions, the applier, and every login: one of a replica has neither name nor address before it is
 * let in (seen on 9.7). The write probe and the heartbeat are to wait as any client does.
 */
const own = `(${applier} OR (me.PROCESSLIST_USER = ${ownUser}
  AND COALESCE(me.PROCESSLIST_INFO, '') NOT LIKE 'UPDATE regent.probe %'
  AND COALESCE(me.PROCESSLIST_INFO, '') NOT LIKE 'REPLACE INTO regent.heartbeat %'))`

/** performance_schema takes none of these locks itself. */
const statements = [
  `SELECT ${columns}, theirs.OBJECT_TYPE AS type, CONCAT(theirs.OBJECT_SCHEMA, '.', theirs.OBJECT_NAME) AS name,
    theirs.LOCK_TYPE AS lockType, theirs.LOCK_STATUS = 'PENDING' AS waits, ours.LOCK_TYPE AS wanted
    FROM performance_schema.metadata_locks ours
    JOIN performance_schema.threads me ON me.THREAD_ID = ours.OWNER_THREAD_ID
    JOIN performance_schema.metadata_locks theirs ON theirs.OBJECT_TYPE = ours.OBJECT_TYPE
      AND theirs.OBJECT_SCHEMA <=> ours.OBJECT_SCHEMA
      AND theirs.OBJECT_NAME <=> ours.OBJECT_NAME
    JOIN performance_schema.threads t ON t.THREAD_ID = theirs.OWNER_THREAD_ID
    WHERE ours.LOCK_STATUS = 'PENDING' AND theirs.LOCK_STATUS IN ('GRANTED', 'PENDING')
      AND (ours.OBJECT_TYPE = 'ACL CACHE' OR ${own}) AND ${foreign}`,
  `SELECT ${columns}, 'ROW' AS type, '' AS name, 'EXCLUSIVE' AS lockType, 0 AS waits, 'EXCLUSIVE' AS wanted
    FROM performance_schema.data_lock_waits w
    JOIN performance_schema.threads me ON me.THREAD_ID = w.REQUESTING_THREAD_ID
    JOIN performance_schema.threads t ON t.THREAD_ID = w.BLOCKING_THREAD_ID
    WHERE ${own} AND ${foreign}`,
] as const

/** Sessions of others that the agent's statements, the applier, or logins wait for at this moment; each once. */
export async function readBlockers(sql: Sql): Promise<readonly Blocker[]> {
  const [locks, rows] = await sql.readAll(statements)
  const found = [...locks, ...rows].filter((row) => textOf(row, 'type') === 'ROW' || stands(row)).map(blockerFrom)
  return [...new Map(found.map((blocker) => [blocker.session, blocker])).values()]
}

/** Ends what waits by its statement, and what holds by its session. */
export async function endBlocker(sql: Sql, { session, waits }: Blocker): Promise<void> {
  await kill(sql, session, waits ? 'QUERY' : 'CONNECTION')
}

/** Against a kind of lock that is not listed, such as that of DDL, all others stand. */
function stands(row: Row): boolean {
  const against = inTheWay[textOf(row, 'wanted')]
  return against === undefined || against.includes(textOf(row, 'lockType'))
}

function blockerFrom(row: Row): Blocker {
  const [type, lockType] = [textOf(row, 'type'), textOf(row, 'lockType')]
  return {
    session: numberOf(row, 'id'),
    user: textOf(row, 'user'),
    host: textOf(row, 'host'),
    lock: lockInWords(type, textOf(row, 'name')),
    waits: textOf(row, 'waits') === '1',
    seconds: numberOf(row, 'seconds'),
    commits: textOf(row, 'commits') === '1',
    mayCommit: !((type === 'GLOBAL' || type === 'COMMIT') && lockType === 'SHARED'),
    behind: textOf(row, 'behind') || 'a login',
  }
}

function lockInWords(type: string, name: string): string {
  const words: Readonly<Record<string, string>> = {
    GLOBAL: 'the global read lock',
    COMMIT: 'the global read lock',
    'BACKUP LOCK': 'the backup lock',
    'ACL CACHE': 'the lock of all accounts, by changing one',
    ROW: 'rows that the agent writes',
  }
  return words[type] ?? `a lock on ${name}`
}
