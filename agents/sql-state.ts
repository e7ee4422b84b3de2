import type { Channel, DumpThread, ServerState } from '../topology/observation.ts'
import type { InstanceName } from '../topology/member.ts'
import { dialectOf } from './dialect.ts'
import type { Row, SqlConnection } from './sql-connection.ts'

/** One statement for everything that variables and the status say. */
const variables = `SELECT @@server_uuid AS uuid, @@version AS version, @@read_only AS readOnly, @@super_read_only AS superReadOnly, @@offline_mode AS offline,
  @@global.gtid_executed AS executed, @@global.gtid_owned AS owned, @@global.gtid_purged AS purged,
  @@rpl_semi_sync_source_enabled AS semiSource, @@rpl_semi_sync_source_wait_for_replica_count AS acks`

const statuses = `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.global_status
  WHERE VARIABLE_NAME IN ('Rpl_semi_sync_source_wait_sessions', 'Rpl_semi_sync_source_no_tx', 'Rpl_semi_sync_replica_status', 'Threads_running')`

const channels = `SELECT c.HOST AS host, c.PORT AS port, c.USER AS user, s.SOURCE_UUID AS sourceUuid, s.SERVICE_STATE AS io, s.LAST_ERROR_MESSAGE AS ioError,
  s.RECEIVED_TRANSACTION_SET AS received, a.SERVICE_STATE AS applier,
  TIMESTAMPDIFF(MICROSECOND, GREATEST(s.LAST_HEARTBEAT_TIMESTAMP, s.LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP, s.LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP), NOW(6)) AS silentMicros,
  (SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_applier_status_by_worker w WHERE w.CHANNEL_NAME = '' AND w.LAST_ERROR_NUMBER <> 0 LIMIT 1) AS workerError,
  (SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_applier_status_by_coordinator k WHERE k.CHANNEL_NAME = '' AND k.LAST_ERROR_NUMBER <> 0 LIMIT 1) AS coordinatorError,
  (SELECT TIMESTAMPDIFF(MICROSECOND, MIN(APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP), NOW(6)) FROM performance_schema.replication_applier_status_by_worker w
    WHERE w.CHANNEL_NAME = '' AND APPLYING_TRANSACTION <> '') AS lagMicros,
  GTID_SUBTRACT(s.RECEIVED_TRANSACTION_SET, @@global.gtid_executed) AS backlog,
  (SELECT COUNT(*) FROM performance_schema.replication_applier_filters) + (SELECT COUNT(*) FROM performance_schema.replication_applier_global_filters) AS filters
  FROM performance_schema.replication_connection_configuration c
  JOIN performance_schema.replication_connection_status s USING (CHANNEL_NAME)
  JOIN performance_schema.replication_applier_status a USING (CHANNEL_NAME) WHERE CHANNEL_NAME = ''`

const dumpThreads = `SELECT t.PROCESSLIST_ID AS threadId, t.PROCESSLIST_USER AS user, t.PROCESSLIST_HOST AS host,
  MAX(CASE WHEN v.VARIABLE_NAME IN ('replica_uuid', 'slave_uuid') THEN v.VARIABLE_VALUE END) AS uuid,
  MAX(CASE WHEN v.VARIABLE_NAME IN ('rpl_semi_sync_replica', 'rpl_semi_sync_slave') THEN v.VARIABLE_VALUE END) AS semiSync
  FROM performance_schema.threads t LEFT JOIN performance_schema.user_variables_by_thread v USING (THREAD_ID)
  WHERE t.PROCESSLIST_COMMAND LIKE 'Binlog Dump%' GROUP BY 1, 2, 3`

const gates = "SELECT User AS user FROM mysql.user WHERE User LIKE 'regent\\\\_r\\\\_%' AND account_locked = 'N'"

const foreignTables = `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB'
  AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 10`

const persisted = 'SELECT VARIABLE_NAME AS name FROM performance_schema.persisted_variables'

/** What is read once for each server start, because it is dear or does not change. */
export interface SlowFacts {
  readonly foreignTables: readonly string[]
  readonly persisted: readonly string[]
}

export async function readSlowFacts(sql: SqlConnection, deadlineMs: number): Promise<SlowFacts> {
  const tables = await sql.query(foreignTables, deadlineMs * 5)
  const variableRows = await sql.query(persisted, deadlineMs)
  return { foreignTables: tables.map((row) => text(row, 'name')), persisted: variableRows.map((row) => text(row, 'name')) }
}

/**
 * Everything that is reported of the server, in a few statements. What a replica received is read before what it executed, and what is owned before both would matter, so that nothing that moves is
 * missed between them.
 */
export async function readServerState(sql: SqlConnection, deadlineMs: number, slow: SlowFacts): Promise<ServerState> {
  const [channelRow] = await sql.query(channels, deadlineMs)
  const [main] = await sql.query(variables, deadlineMs)
  const statusRows = await sql.query(statuses, deadlineMs)
  const threads = await sql.query(dumpThreads, deadlineMs)
  const open = await sql.query(gates, deadlineMs)
  const [binlog] = await sql.query(dialectOf(text(main ?? ({} as Row), 'version')).showBinlog, deadlineMs)
  const status = new Map(statusRows.map((row) => [text(row, 'name'), text(row, 'value')]))
  const row = main ?? ({} as Row)
  return {
    uuid: text(row, 'uuid'),
    version: text(row, 'version'),
    readOnly: flag(row, 'readOnly'),
    superReadOnly: flag(row, 'superReadOnly'),
    offlineMode: flag(row, 'offline'),
    executed: gtids(row, 'executed'),
    owned: ownedSet(text(row, 'owned')),
    purged: gtids(row, 'purged'),
    received: channelRow ? gtids(channelRow, 'received') : '',
    channel: channelRow ? channelFrom(channelRow, status) : null,
    dumpThreads: threads.map(dumpThreadFrom),
    semiSyncSource: {
      enabled: flag(row, 'semiSource'),
      acks: Number(row['acks']),
      waiting: Number(status.get('Rpl_semi_sync_source_wait_sessions') ?? 0),
      unacknowledged: Number(status.get('Rpl_semi_sync_source_no_tx') ?? 0),
    },
    openGates: open.map((gate) => text(gate, 'user').replace(/^regent_r_/, '') as InstanceName),
    runningSessions: Number(status.get('Threads_running') ?? 0),
    binlogNumber: Number(/\.(\d+)$/.exec(binlog ? text(binlog, 'File') : '')?.[1] ?? 0),
    foreignTables: slow.foreignTables,
    persisted: slow.persisted,
  }
}

function channelFrom(row: Row, status: ReadonlyMap<string, string>): Channel {
  const io = text(row, 'io')
  const backlog = gtids(row, 'backlog')
  return {
    sourceHost: text(row, 'host'),
    sourcePort: Number(row['port']),
    sourceUser: text(row, 'user'),
    sourceUuid: text(row, 'sourceUuid'),
    ioRunning: io === 'ON' ? 'yes' : io === 'CONNECTING' ? 'connecting' : 'no',
    sqlRunning: text(row, 'applier') === 'ON',
    ioError: text(row, 'ioError'),
    sqlError: text(row, 'workerError') || text(row, 'coordinatorError'),
    backlogTransactions: backlog === '' ? 0 : countOf(backlog),
    lagSeconds: row['lagMicros'] === null || backlog === '' ? null : Math.max(0, Math.round(Number(row['lagMicros']) / 100_000) / 10),
    semiSync: status.get('Rpl_semi_sync_replica_status') === 'ON',
    filtered: Number(row['filters']) > 0,
    silentMs: io === 'ON' ? silence(row) : null,
  }
}

/** Before the first event or heartbeat of a connection there is nothing to count from. */
function silence(row: Row): number {
  const ms = Number(row['silentMicros']) / 1_000
  return ms > 86_400_000 || ms < 0 ? 0 : Math.round(ms)
}

function dumpThreadFrom(row: Row): DumpThread {
  return {
    threadId: Number(row['threadId']),
    user: text(row, 'user'),
    host: text(row, 'host'),
    serverUuid: text(row, 'uuid').replaceAll("'", ''),
    semiSync: Number(text(row, 'semiSync') || 0) > 0,
  }
}

/** Rough, without building the set: a backlog is one or few intervals. */
function countOf(set: string): number {
  let count = 0
  for (const interval of set.matchAll(/:(\d+)(?:-(\d+))?/g)) count += Number(interval[2] ?? interval[1]) - Number(interval[1]) + 1
  return count
}

/** `gtid_owned` is printed as `uuid:number#thread:number#thread…`. */
export function ownedSet(printed: string): string {
  return printed.replace(/#\d+/g, '').replace(/\s+/g, '')
}

function text(row: Row, name: string): string {
  const value: unknown = row[name]
  if (Buffer.isBuffer(value)) return value.toString('utf8')
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

function flag(row: Row, name: string): boolean {
  return Number(row[name]) === 1
}

function gtids(row: Row, name: string): string {
  return text(row, name).replace(/\s+/g, '')
}
