import { dialectFor, olderName, type Dialect } from '#agents/sql/dialect/dialect.ts'
import { LookFailure } from './failure.ts'
import type { BinlogPosition, ListedReplica, SeenChannel, SeenServer, ServerFacts } from './seen.ts'
import type { Row, ServerSession } from './session.ts'
import { say } from '#common/sentence/sentence.ts'

const variableNames = [
  'server_uuid',
  'server_id',
  'hostname',
  'port',
  'datadir',
  'report_host',
  'gtid_mode',
  'log_bin',
  'log_replica_updates',
  'persisted_globals_load',
  'binlog_format',
  'replica_net_timeout',
  'rpl_semi_sync_source_enabled',
  'rpl_semi_sync_replica_enabled',
] as const

type VariableName = (typeof variableNames)[number]

/** Both names of each: which one a server knows, the answer tells. */
const variablesStatement = `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${variableNames
  .flatMap((name) => [...new Set([name, olderName(name)])])
  .map((name) => `'${name}'`)
  .join(', ')})`

/** Both names; only where it is switched on, for that is asked at each look. */
const semiSyncStatement =
  "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_source_status', 'Rpl_semi_sync_master_status')"

/** What MHA’s manager holds at the master while it watches that (`MHA::DBHelper`). */
const mhaLock = 'MHA_Master_High_Availability_Monitor'

const dumpsStatement = `SELECT HOST AS host FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'`

/** Rejects with a `LookFailure`; `unasked` for a version that no dialect knows. */
export async function readFacts(session: ServerSession, deadlineMs: number): Promise<ServerFacts> {
  const [first] = await session.query('SELECT @@version AS version', deadlineMs)
  const version = textOf(first, 'version')
  const dialect = dialectFor(version)
  if (dialect === undefined) throw new LookFailure('unasked', say`its version is "${version}", which no dialect knows`)
  const variables = await session.query(variablesStatement, deadlineMs)
  const values = new Map(variables.map((row) => [textOf(row, 'Variable_name'), textOf(row, 'Value')]))
  const value = (name: VariableName): string => values.get(name) ?? values.get(olderName(name)) ?? ''
  const lacks: string[] = []
  /** What the account may not ask is not known, and named. */
  const allowed = async (privilege: string, statement: string): Promise<readonly Row[]> => {
    try {
      return await session.query(statement, deadlineMs)
    } catch (error) {
      if (!(error instanceof LookFailure) || error.reach !== 'lockedOut') throw error
      lacks.push(privilege)
      return []
    }
  }
  const listed = await allowed('REPLICATION SLAVE', dialect.showReplicas)
  const dumps = await allowed('PROCESS', dumpsStatement)
  await allowed(dialect.monitor, dialect.showReplica)
  const grants = await session.query('SHOW GRANTS', deadlineMs)
  return {
    dialect,
    version,
    uuid: value('server_uuid'),
    serverId: Number(value('server_id')),
    hostname: value('hostname'),
    port: Number(value('port')),
    dataDir: value('datadir'),
    reportHost: value('report_host'),
    gtidMode: dialect.executed === null ? 'none' : value('gtid_mode'),
    logBin: value('log_bin') === 'ON',
    logReplicaUpdates: value('log_replica_updates') === 'ON',
    loadsPersisted: value('persisted_globals_load') !== 'OFF',
    binlogFormat: value('binlog_format'),
    netTimeoutSeconds: Number(value('replica_net_timeout')),
    semiSyncSource: value('rpl_semi_sync_source_enabled') === 'ON',
    semiSyncReplica: value('rpl_semi_sync_replica_enabled') === 'ON',
    listed: listed.map((row) => listedFrom(row)),
    dumpHosts: dumps.map((row) => textOf(row, 'host').replace(/:\d+$/, '')),
    grants: grants.map((row) => String(Object.values(row)[0])),
    lacks,
  }
}

/** What changes all the time, in one message. Rejects with a `LookFailure`. */
export async function readServer(session: ServerSession, facts: ServerFacts, deadlineMs: number): Promise<SeenServer> {
  const { dialect, lacks } = facts
  const mayAsk = !lacks.includes(dialect.monitor)
  const ofReplication = mayAsk ? [dialect.showReplica, dialect.showBinlog] : []
  const ofSemiSync = facts.semiSyncSource ? [semiSyncStatement] : []
  const statements = [stateStatement(dialect), ...ofReplication, ...ofSemiSync]
  const [[row] = [], ...more] = await session.queryAll(statements, deadlineMs)
  const [channels = [], [binlog] = []] = more.slice(0, ofReplication.length)
  const [[semiSync] = []] = more.slice(ofReplication.length)
  return {
    ...facts,
    semiSyncWaits: textOf(semiSync, 'Value') === 'ON',
    readOnly: isOn(row, 'readOnly'),
    superReadOnly: isOn(row, 'superReadOnly'),
    offline: isOn(row, 'offline'),
    mhaWatches: isOn(row, 'mhaWatches'),
    executed: gtidsOf(textOf(row, 'executed')),
    binlog: binlog === undefined ? null : positionOf(textOf(binlog, 'File'), binlog['Position']),
    channels: channels.map((one) => channelFrom(dialect, one)),
  }
}

function stateStatement({ executed, superReadOnly }: Dialect): string {
  const columns = [
    '@@GLOBAL.read_only AS readOnly',
    `${superReadOnly ? '@@GLOBAL.super_read_only' : '0'} AS superReadOnly`,
    `${superReadOnly ? '@@GLOBAL.offline_mode' : '0'} AS offline`,
    `${executed ?? "''"} AS executed`,
    `IS_USED_LOCK('${mhaLock}') IS NOT NULL AS mhaWatches`,
  ]
  return `SELECT ${columns.join(', ')}`
}

function channelFrom({ oldWords }: Dialect, row: Row): SeenChannel {
  const text = (name: string): string => textOf(row, oldWords ? olderName(name) : name)
  const io = text('Replica_IO_Running')
  const lag = row[oldWords ? 'Seconds_Behind_Master' : 'Seconds_Behind_Source'] ?? null
  return {
    name: textOf(row, 'Channel_Name') || textOf(row, 'Connection_name'),
    sourceHost: text('Source_Host'),
    sourcePort: Number(text('Source_Port')),
    sourceUser: text('Source_User'),
    sourceUuid: text('Source_UUID'),
    io: io === 'Yes' ? 'yes' : io === 'Connecting' ? 'connecting' : 'no',
    ioError: textOf(row, 'Last_IO_Error'),
    ioErrno: Number(textOf(row, 'Last_IO_Errno')),
    sql: text('Replica_SQL_Running') === 'Yes',
    sqlError: textOf(row, 'Last_SQL_Error'),
    lagSeconds: lag === null ? null : Number(lag),
    received: gtidsOf(textOf(row, 'Retrieved_Gtid_Set')),
    read: positionOf(text('Source_Log_File'), row[oldWords ? 'Read_Master_Log_Pos' : 'Read_Source_Log_Pos']),
    applied: positionOf(text('Relay_Source_Log_File'), row[oldWords ? 'Exec_Master_Log_Pos' : 'Exec_Source_Log_Pos']),
    filtered: Object.entries(row).some(
      ([name, value]) => /^Replicate_(?!Ignore_Server_Ids|Rewrite)/.test(name) && value !== '',
    ),
    autoPosition: textOf(row, 'Auto_Position') === '1',
    delaySeconds: Number(textOf(row, 'SQL_Delay') || 0),
  }
}

/** Names of columns differ by version: `Slave_UUID`, `Replica_UUID`, and MariaDB has none. */
function listedFrom(row: Row): ListedReplica {
  return {
    host: textOf(row, 'Host'),
    port: Number(textOf(row, 'Port')),
    uuid: textOf(row, 'Replica_UUID') || textOf(row, 'Slave_UUID'),
    serverId: Number(textOf(row, 'Server_Id') || textOf(row, 'Server_id')),
  }
}

function positionOf(file: string, position: unknown): BinlogPosition {
  return { file, position: Number(position ?? 0) }
}

function gtidsOf(text: string): string {
  return text.replaceAll(/\s/g, '')
}

function isOn(row: Row | undefined, name: string): boolean {
  return textOf(row, name) === '1'
}

function textOf(row: Row | undefined, name: string): string {
  const value = row?.[name]
  if (Buffer.isBuffer(value)) return value.toString('utf8')
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}
