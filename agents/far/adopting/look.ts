import { isAbsolute, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { keeperAttribute, SqlConnection } from '#agents/sql/connections/connection.ts'
import { textOf } from '#agents/sql/connections/statements.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import type { FarPlaces } from '#agents/instance/config.ts'
import { semiSyncNames } from './semi-sync.ts'

/** How a server is reached that is to be managed. */
export interface FarAccess {
  readonly instance: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** PEM of the authority that signed the server's certificate; undefined: no certificate is compared. */
  readonly authority: string | undefined
}

/** Values by name; what is not in it is not persisted. */
export type Persisted = Readonly<Record<string, string>>

/**
 * How each start of a managed server is to be, whoever starts it: closed, and without replication. Its agent opens it,
 * or has it follow (docs/why/safety.md, "A mysqld always starts closed").
 */
export const persistedWhileManaged: Persisted = { super_read_only: 'ON', offline_mode: 'ON', skip_replica_start: 'ON' }

/** What managing keeps of a server: where its files are, and what its owner had persisted. */
export interface Taken {
  readonly persisted: Persisted
  /** As the server runs; empty where its plugins were not loaded. */
  readonly semiSync: Persisted
  readonly places: FarPlaces
}

export function openSession({ host, port, user, password, authority }: FarAccess): Promise<SqlConnection> {
  const compared = authority === undefined ? undefined : () => Promise.resolve(authority)
  return SqlConnection.open(
    [{ host, port, user, password, overTls: true, authority: compared, identity: null }],
    ownSession,
    () => undefined,
  )
}

const placeNames = ['datadir', 'pid_file', 'log_bin_index', 'relay_log_basename', 'relay_log_index', 'log_error']

/** Rejects with `REGENT_REFUSED` where agents of another machine manage the server. */
export async function look(access: FarAccess, dataDir: string | undefined): Promise<Taken> {
  const session = await openSession(access)
  try {
    await refuseOtherKeeper(session, access)
    const places = await valuesIn(session, 'global_variables', placeNames)
    return {
      persisted: await valuesIn(session, 'persisted_variables', Object.keys(persistedWhileManaged)),
      semiSync: await valuesIn(session, 'global_variables', semiSyncNames),
      places: placesOf((name) => places[name] ?? '', dataDir),
    }
  } finally {
    session.destroy()
  }
}

async function refuseOtherKeeper(session: SqlConnection, { instance }: FarAccess): Promise<void> {
  const [keeper] = await session.query(
    `SELECT p.ID AS id, p.HOST AS host FROM performance_schema.session_connect_attrs a
       JOIN performance_schema.processlist p ON p.ID = a.PROCESSLIST_ID WHERE a.ATTR_NAME = '${keeperAttribute}'`,
  )
  if (keeper === undefined) return
  const [id, host] = [textOf(keeper, 'id'), textOf(keeper, 'host')]
  throw new RegentError(
    'REGENT_REFUSED',
    say`${instance} is managed from another machine: session ${id}, from ${host}, is that of an agent`,
    {
      remedy: `Have that machine watch again: regent adopt watch. Is it gone for good, end what is left of its sessions: KILL ${id};`,
    },
  )
}

async function valuesIn(session: SqlConnection, table: string, names: readonly string[]): Promise<Persisted> {
  const rows = await session.query(
    `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.${table} WHERE VARIABLE_NAME IN (${names.map((name) => `'${name}'`).join(', ')})`,
  )
  return Object.fromEntries(rows.map((row) => [textOf(row, 'name'), textOf(row, 'value')]))
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
