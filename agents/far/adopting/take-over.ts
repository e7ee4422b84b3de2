import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { accountsAnew, instancesOf, literal, recordFingerprints, schemaStatements } from '#agents/instance/accounts.ts'
import { replicationUser } from '#agents/ports/server.ts'
import type { SqlConnection } from '#agents/sql/connections/connection.ts'
import { textOf } from '#agents/sql/connections/statements.ts'
import { semiSyncBack, sidesOf } from './semi-sync.ts'
import { openSession, persistedWhileManaged, type FarAccess, type Persisted } from './look.ts'

/** Longer than three short transactions take to be applied by replicas that lag a little. */
const appliedSeconds = 30

/**
 * Makes everything on these servers that agents rest upon, through the primary where it replicates: Regent's schema and
 * the accounts of gates. May be done again.
 */
export async function takeOver(
  cluster: string,
  {
    primary,
    servers,
    secret,
  }: { readonly primary: FarAccess; readonly servers: readonly FarAccess[]; readonly secret: string },
): Promise<void> {
  for (const server of servers) await withSession(server, (session) => loadPlugins(session))
  const executed = await withSession(primary, async (session) => {
    const gates = instancesOf(cluster).map((instance) => ({ user: replicationUser(instance), host: '%' }))
    const users = gates.map(({ user }) => user)
    for (const statement of [...schemaStatements(), ...accountsAnew(gates, secret), recordFingerprints(users)])
      await session.query(statement)
    return textOf((await session.query('SELECT @@global.gtid_executed AS executed'))[0], 'executed')
  })
  for (const server of servers) await withSession(server, (session) => waitFor(session, executed))
  for (const server of servers)
    await withSession(server, async (session) => {
      // A replica that is only read-only can be written to by many an account.
      if (server !== primary) await session.query('SET GLOBAL super_read_only = ON')
      for (const [name, value] of Object.entries(persistedWhileManaged))
        await session.query(`SET PERSIST_ONLY ${name} = ${value}`)
    })
}

/** How servers were before they were managed, by instance. */
export interface Before {
  readonly persisted: Readonly<Record<string, Persisted>>
  readonly semiSync: Readonly<Record<string, Persisted>>
}

/**
 * What a start of these servers finds is as it was before they were managed, and so is semi-synchronous replication:
 * nobody is there any more who would let writes go on without a replica. They themselves go on as they are.
 *
 * @returns why a server was not given back, by instance
 */
export async function giveBack(servers: readonly FarAccess[], before: Before): Promise<ReadonlyMap<string, unknown>> {
  const failures = new Map<string, unknown>()
  const primaries: FarAccess[] = []
  const give = async (access: FarAccess, isPrimary: boolean): Promise<void> => {
    try {
      const isOpen = await withSession(access, async (session) => {
        const [row] = await session.query('SELECT @@global.read_only AS closed')
        const isOpen = textOf(row, 'closed') === '0'
        if (isOpen === isPrimary)
          for (const statement of backTo(before, access.instance, isOpen)) await session.query(statement)
        return isOpen
      })
      if (isOpen && !isPrimary) primaries.push(access)
    } catch (error) {
      failures.set(access.instance, error)
    }
  }
  for (const access of servers) await give(access, false)
  // A primary waits for replicas that acknowledge already.
  for (const access of primaries) await give(access, true)
  return failures
}

/** What makes one server so again, that is primary now or is not. Pure. */
export function backTo({ persisted, semiSync }: Before, instance: string, isPrimary: boolean): readonly string[] {
  return [
    ...Object.keys(persistedWhileManaged).map((name) => {
      const value = persisted[instance]?.[name]
      return value === undefined
        ? `RESET PERSIST IF EXISTS ${name}`
        : `SET PERSIST_ONLY ${name} = ${value === 'ON' || value === 'OFF' ? value : literal(value)}`
    }),
    ...semiSyncBack(semiSync[instance] ?? {}, sidesOf(Object.values(semiSync)), isPrimary),
  ]
}

/** Rejects with the error, and with the server where that came from. */
async function withSession<T>(access: FarAccess, use: (session: SqlConnection) => Promise<T>): Promise<T> {
  let session: SqlConnection | undefined
  try {
    session = await openSession(access)
    return await use(session)
  } catch (error) {
    const { instance, host, port } = access
    const [code, remedy] =
      error instanceof RegentError ? [error.code, error.remedyIn('local')] : ['REGENT_SERVER_ERROR' as const, undefined]
    throw new RegentError(code, say`${instance} (${host}:${port}): ${described(error)}`, { cause: error, remedy })
  } finally {
    session?.destroy()
  }
}

/**
 * They come with the server. Off they do nothing; variables of semi-synchronous replication are looked at in any mode,
 * and a server that has lost its place is made a copy of another by CLONE.
 */
const plugins: Readonly<Record<string, string>> = {
  rpl_semi_sync_source: 'semisync_source.so',
  rpl_semi_sync_replica: 'semisync_replica.so',
  clone: 'mysql_clone.so',
}

async function loadPlugins(session: SqlConnection): Promise<void> {
  const loaded = await session.query('SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS')
  const names = new Set(loaded.map((row) => textOf(row, 'name')))
  const lacking = Object.entries(plugins).filter(([name]) => !names.has(name))
  if (lacking.length === 0) return
  const [row] = await session.query('SELECT @@global.super_read_only AS closed')
  const isClosed = textOf(row, 'closed') === '1'
  await session.query('SET SESSION sql_log_bin = 0')
  if (isClosed) await session.query('SET GLOBAL super_read_only = OFF')
  try {
    for (const [name, library] of lacking) await session.query(`INSTALL PLUGIN ${name} SONAME '${library}'`)
  } finally {
    if (isClosed) await session.query('SET GLOBAL super_read_only = ON')
  }
}

async function waitFor(session: SqlConnection, executed: string): Promise<void> {
  const set = literal(executed.replace(/\s+/g, ''))
  const [row] = await session.query(`SELECT WAIT_FOR_EXECUTED_GTID_SET(${set}, ${appliedSeconds}) AS late`)
  if (textOf(row, 'late') !== '0')
    throw new RegentError(
      'REGENT_TIMED_OUT',
      say`what the primary wrote was not applied within ${appliedSeconds} s: it lags`,
      { remedy: 'Try again once it has caught up.' },
    )
}
