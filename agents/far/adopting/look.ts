import { isAbsolute, join } from 'node:path'
import { SqlConnection, type Row } from '#agents/sql/connections/connection.ts'
import { textOf } from '#agents/sql/connections/statements.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import type { FarPlaces } from '#agents/instance/config.ts'

/** How a server is reached that is to be managed. */
export interface FarAccess {
  readonly instance: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

/** Values by name; what is not in it is not persisted. */
export type Persisted = Readonly<Record<string, string>>

/**
 * How each start of a managed server is to be, whoever starts it: closed, and without replication. Its agent opens it,
 * or has it follow (docs/why/safety.md, "A mysqld always starts closed").
 */
export const persistedWhileManaged: Persisted = { super_read_only: 'ON', offline_mode: 'ON', skip_replica_start: 'ON' }

/** What a server says of itself before it is managed. */
export interface Looked {
  readonly access: FarAccess
  readonly uuid: string
  readonly version: string
  readonly serverId: string
  /** System variables by name, as the server prints them. */
  readonly variables: ReadonlyMap<string, string>
  /** What each start is to find by `SET PERSIST`, of that which managing persists. */
  readonly persisted: Persisted
  readonly grants: readonly string[]
  readonly executed: string
  readonly isOpen: boolean
  /** `host:port` and whether it is followed by GTID; null for a server that follows nobody. */
  readonly source: { readonly uuid: string; readonly autoPosition: boolean; readonly running: boolean } | null
  readonly channels: number
  readonly places: FarPlaces
}

export function openSession({ host, port, user, password }: FarAccess): Promise<SqlConnection> {
  return SqlConnection.open(
    [{ host, port, user, password, overTls: true, ownUuids: () => [] }],
    ownSession,
    () => undefined,
  )
}

const asked = [
  ...['version', 'server_uuid', 'server_id', 'gtid_mode', 'enforce_gtid_consistency', 'log_bin'],
  ...['log_replica_updates', 'binlog_format', 'read_only', 'super_read_only', 'offline_mode', 'sync_binlog'],
  ...['innodb_flush_log_at_trx_commit', 'persisted_globals_load', 'datadir', 'pid_file', 'log_bin_index'],
  ...['relay_log_basename', 'relay_log_index', 'log_error', 'rpl_semi_sync_source_enabled', 'skip_replica_start'],
]

export async function look(access: FarAccess, dataDir: string | undefined): Promise<Looked> {
  const session = await openSession(access)
  try {
    const rows = await session.query(
      `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.global_variables WHERE VARIABLE_NAME IN (${asked.map((name) => `'${name}'`).join(', ')})`,
    )
    const variables = new Map(rows.map((row) => [textOf(row, 'name'), textOf(row, 'value')]))
    const [executed] = await session.query('SELECT @@global.gtid_executed AS executed')
    const persisted = await session.query(
      `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.persisted_variables WHERE VARIABLE_NAME IN (${namesOf(persistedWhileManaged)})`,
    )
    const grants = await session.query('SHOW GRANTS')
    const channels = await session.query('SHOW REPLICA STATUS')
    const said = (name: string): string => variables.get(name) ?? ''
    return {
      access,
      uuid: said('server_uuid'),
      version: said('version'),
      serverId: said('server_id'),
      variables,
      persisted: Object.fromEntries(persisted.map((row) => [textOf(row, 'name'), textOf(row, 'value')])),
      grants: grants.map((row) => String(Object.values(row)[0])),
      executed: textOf(executed, 'executed').replace(/\s+/g, ''),
      isOpen: said('read_only') === 'OFF' && said('offline_mode') === 'OFF',
      source: sourceIn(channels[0]),
      channels: channels.length,
      places: placesOf(said, dataDir),
    }
  } finally {
    session.destroy()
  }
}

function namesOf(values: Persisted): string {
  return Object.keys(values)
    .map((name) => `'${name}'`)
    .join(', ')
}

function sourceIn(row: Row | undefined): Looked['source'] {
  if (row === undefined) return null
  return {
    uuid: textOf(row, 'Source_UUID'),
    autoPosition: textOf(row, 'Auto_Position') === '1',
    running: textOf(row, 'Replica_IO_Running') === 'Yes' && textOf(row, 'Replica_SQL_Running') === 'Yes',
  }
}

function placesOf(said: (name: string) => string, given: string | undefined): FarPlaces {
  const dataDir = (given ?? said('datadir')).replace(/(.)\/+$/, '$1')
  const below = (path: string): string => (path === '' || isAbsolute(path) ? path : join(dataDir, path))
  const errorLog = said('log_error')
  return {
    dataDir,
    pidFile: below(said('pid_file')),
    binlogIndex: below(said('log_bin_index')),
    relayLogBase: below(said('relay_log_basename')),
    relayLogIndex: below(said('relay_log_index')),
    errorLog: errorLog === 'stderr' ? '' : below(errorLog),
  }
}
