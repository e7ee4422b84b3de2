import { counted, joined, say, type Heard } from '#common/sentence/sentence.ts'
import type { WriteProbe } from '#topology/snapshot/observation.ts'
import { codeOf, described, describeError } from '#common/errors/errors.ts'
import { numberOf, textOf, type Sql } from './connections/statements.ts'
import { tooManyConnections } from './connections/connection.ts'
import type { Row } from './connections/statements.ts'
import { errnoOf } from './connections/failure.ts'

export interface ProbeResult {
  readonly result: WriteProbe
  readonly detail: Heard
}

/** Statements through the interface that clients use. */
export type ClientQuery = (statement: string, deadlineMs: number) => Promise<readonly Row[]>

/** The server's numbers for "I am closed", which is an answer: read-only, offline. */
const closed: ReadonlySet<number> = new Set([1290, 3032])
/** ER_DISK_FULL, ER_RECORD_FILE_FULL, ER_FILSORT…: no space. */
const full: ReadonlySet<number> = new Set([1021, 1114, 1041, 3055])
/** InnoDB or its files are read-only. */
const readOnlyFiles: ReadonlySet<number> = new Set([1036, 1878, 1881, 1906])
/** A lock's own time-out. */
const lockTimeouts: ReadonlySet<number> = new Set([1205, 3572])

/**
 * Whether a client's write would go through, acknowledgements left aside: one InnoDB row through the client interface,
 * binary log off. When it does not come back, the administrative interface tells a lock from a server that is stuck.
 * Never rejects.
 */
export async function probeWrite(client: ClientQuery, sql: Sql, deadlineMs: number): Promise<ProbeResult> {
  try {
    await client('UPDATE regent.probe SET beat = beat + 1 WHERE id = 1', deadlineMs)
  } catch (error) {
    if (!closed.has(errnoOf(error))) return whyNot(sql, error, deadlineMs)
  }
  return exhausted(sql, deadlineMs).catch((error: unknown) => ({
    // A far agent's login is a client's.
    result: tooManyConnections.has(errnoOf(error)) ? 'tooManyConnections' : 'ok',
    detail: say`connections were not counted: ${described(error)}`,
  }))
}

function whyNot(sql: Sql, error: unknown, deadlineMs: number): ProbeResult | Promise<ProbeResult> {
  const [errno, detail] = [errnoOf(error), describeError(error)]
  if (tooManyConnections.has(errno)) return { result: 'tooManyConnections', detail }
  if (full.has(errno) || /errno: 28\b|No space left|Disk quota/i.test(detail)) return { result: 'diskFull', detail }
  if (readOnlyFiles.has(errno) || /errno: 30\b|Read-only file system/i.test(detail))
    return { result: 'readOnlyFilesystem', detail }
  if (lockTimeouts.has(errno)) return { result: 'locked', detail }
  if (codeOf(error) === 'REGENT_SERVER_DOWN') return { result: 'unknown', detail }
  return whyStuck(sql, detail, deadlineMs)
}

/** The agent's own login is let in where a client's is not: so connections are counted. */
async function exhausted(sql: Sql, deadlineMs: number): Promise<ProbeResult> {
  const [row] = await sql.read(
    "SELECT @@global.max_connections AS most, VARIABLE_VALUE AS now FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_connected'",
    deadlineMs,
  )
  const [most, now] = [numberOf(row, 'most'), numberOf(row, 'now')]
  if (now < most) return { result: 'ok', detail: '' }
  return { result: 'tooManyConnections', detail: say`${counted(now, 'connection')} of at most ${most}` }
}

const holders = `SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, t.PROCESSLIST_HOST AS host, l.OBJECT_TYPE AS type
  FROM performance_schema.metadata_locks l
  JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID
  WHERE l.LOCK_STATUS IN ('GRANTED', 'PENDING') AND (l.OBJECT_TYPE IN ('GLOBAL', 'COMMIT') AND l.LOCK_TYPE = 'SHARED'
    OR l.OBJECT_SCHEMA = 'regent'
      AND l.LOCK_TYPE IN ('SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'SHARED_READ_ONLY', 'EXCLUSIVE')) LIMIT 3`

async function whyStuck(sql: Sql, detail: string, deadlineMs: number): Promise<ProbeResult> {
  try {
    const rows = await sql.read(holders, deadlineMs)
    if (rows.length === 0) return { result: 'stuck', detail }
    // A session may hold several locks.
    const sessions = new Map(rows.map((row) => [numberOf(row, 'id'), row]))
    const names = [...sessions].map(([id, row]) => say`session ${id} of ${textOf(row, 'user')}@${textOf(row, 'host')}`)
    return { result: 'locked', detail: say`writes are locked by ${joined(names, ', ')}` }
  } catch {
    return { result: 'stuck', detail }
  }
}
