import { passwordFor } from '../src/common/account-password.ts'
import { RegentError } from '../src/common/errors.ts'
import type { World } from '../src/common/ports.ts'
import { agentHost, agentUser } from './accounts.ts'
import type { AgentConfig } from './config.ts'
import type { ServerPort } from './server-port.ts'
import { cloneInto } from './sql-clone.ts'
import { SqlConnection } from './sql-connection.ts'
import { setGates } from './sql-gates.ts'
import { ReplicationSql } from './sql-replication.ts'
import { killDumpThreads, killForeignSessions, busySessions } from './sql-sessions.ts'
import { ownedSet, readServerState, readSlowFacts, type SlowFacts } from './sql-state.ts'
import { probeWrite } from './write-probe.ts'
import { volumeLayout } from './volume-layout.ts'

interface SqlDependencies {
  readonly world: World
  readonly secret: string
  readonly queryDeadlineMs: number
}

/** The time-out's end would mean: acknowledge without a replica. */
const hundredYearsMs = 3_153_600_000_000

/** What the agent does to its server, in SQL. Three connections: to look, to act, and one for markers, which may wait for long. */
export function createSqlServer(config: AgentConfig, { world, secret, queryDeadlineMs }: SqlDependencies): ServerPort {
  const user = agentUser
  const password = passwordFor(secret, user)
  const targets = [
    { socketPath: volumeLayout(config.volume).socket, user, password },
    // The account is for this machine: see accounts.ts.
    { host: config.host, port: config.adminPort, localAddress: agentHost, user, password },
  ]
  const open = () => new SqlConnection(targets, world, ['SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2'])
  const [looking, acting] = [open(), open()]
  const marking = { 1: open(), 2: open() }
  // What is changed by hand here must never enter the binary log.
  const quiet = new SqlConnection(targets, world, ['SET SESSION sql_log_bin = 0, lock_wait_timeout = 2, innodb_lock_wait_timeout = 2'])
  const replication = new ReplicationSql(acting, queryDeadlineMs)
  let slow: { uuid: string; facts: SlowFacts } | undefined
  const run = (statement: string, deadlineMs = queryDeadlineMs) => acting.query(statement, deadlineMs)

  return {
    async readState() {
      if (slow === undefined) {
        const [row] = await looking.query('SELECT @@server_uuid AS uuid', queryDeadlineMs)
        slow = { uuid: String(row?.['uuid']), facts: await readSlowFacts(looking, queryDeadlineMs) }
      }
      return readServerState(looking, queryDeadlineMs, slow.facts)
    },
    async readHolds() {
      const received = await replication.received()
      const [row] = await run('SELECT @@global.gtid_owned AS owned, @@global.gtid_executed AS executed')
      return { executed: squeezed(row?.['executed']), owned: ownedSet(squeezed(row?.['owned'])), received }
    },
    async setReadOnly(state, deadlineMs = queryDeadlineMs * 4) {
      if (state === 'open') await run('SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF', deadlineMs)
      if (state === 'accounts') await run('SET GLOBAL read_only = ON, GLOBAL super_read_only = OFF', deadlineMs)
      if (state === 'closed') await run('SET GLOBAL super_read_only = ON', deadlineMs)
    },
    setOffline: async (on) => void (await run(`SET GLOBAL offline_mode = ${on ? 'ON' : 'OFF'}`)),
    killForeignSessions: () => killForeignSessions(acting, queryDeadlineMs),
    busySessions: () => busySessions(acting, queryDeadlineMs),
    async waitingSessions() {
      const [row] = await run('SELECT @@global.gtid_owned AS owned, @@rpl_semi_sync_source_enabled AS semi')
      const owned = ownedSet(squeezed(row?.['owned']))
      return Number(row?.['semi']) === 1 && owned !== '' ? owned.split(/[:,]/).length - 1 : 0
    },
    stopReceiver: () => replication.stopReceiver(),
    startReceiver: () => replication.startReceiver(),
    startApplier: () => replication.startApplier(),
    stopApplier: () => replication.stopApplier(),
    pointTo: (source) => replication.pointTo(source),
    forgetSource: () => replication.forgetSource(),
    clearFilters: () => replication.clearFilters(),
    waitExecuted: (set, waitMs) => replication.waitExecuted(set, waitMs),
    waitReceived: (set, waitMs) => replication.waitReceived(set, waitMs, world),
    setSemiSyncReplica: async (on) => void (await run(`SET GLOBAL rpl_semi_sync_replica_enabled = ${on ? 1 : 0}`)),
    async setSemiSyncSource(acks) {
      // Setting what is set already costs nothing; switching it takes up to a second while replicas are connected.
      const count = Math.max(1, acks)
      const settings = [
        `GLOBAL rpl_semi_sync_source_wait_for_replica_count = ${count}`,
        `GLOBAL rpl_semi_sync_source_timeout = ${hundredYearsMs}`,
        'GLOBAL rpl_semi_sync_source_wait_no_replica = ON',
        "GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC'",
        `GLOBAL rpl_semi_sync_source_enabled = ${acks > 0 ? 'ON' : 'OFF'}`,
      ]
      await run(`SET ${settings.join(', ')}`, queryDeadlineMs * 5)
    },
    setGates: (open_) => setGates({ sql: quiet, deadlineMs: queryDeadlineMs, secret }, open_),
    killDumpThreads: (keep) => killDumpThreads({ sql: acting, deadlineMs: queryDeadlineMs, world }, keep),
    async writeMarker(token, slot) {
      await marking[slot].query('REPLACE INTO regent.marker (id, token) VALUES (?, ?)', Number.POSITIVE_INFINITY, [slot, token])
    },
    probeWrite: (deadlineMs) => probeWrite(quiet, looking, deadlineMs),
    async setEvents(on) {
      if (on) await enableEvents(quiet, queryDeadlineMs)
      await run(`SET GLOBAL event_scheduler = ${on ? 'ON' : 'OFF'}`)
    },
    cloneInto: (directory, donor, progress) => cloneInto({ sql: acting, watch: looking, world, deadlineMs: queryDeadlineMs }, { directory, donor, progress }),
    disconnect() {
      slow = undefined
      for (const connection of [looking, acting, marking[1], marking[2], quiet]) connection.disconnect()
    },
  }
}

/** Events that replication brought are disabled here (`REPLICA_SIDE_DISABLED`); on the primary they run. A server that names them otherwise is asked by both names. */
async function enableEvents(sql: SqlConnection, deadlineMs: number): Promise<void> {
  const rows = await sql.query("SELECT EVENT_SCHEMA AS s, EVENT_NAME AS n FROM information_schema.EVENTS WHERE STATUS IN ('SLAVESIDE_DISABLED', 'REPLICA_SIDE_DISABLED')", deadlineMs)
  for (const row of rows) await sql.query(`ALTER EVENT ${identifier(row['s'])}.${identifier(row['n'])} ENABLE`, deadlineMs)
}

function identifier(name: unknown): string {
  if (typeof name !== 'string') throw new RegentError('REGENT_SERVER_ERROR', 'an event without a name')
  return `\`${name.replaceAll('`', '``')}\``
}

function squeezed(value: unknown): string {
  return typeof value === 'string' ? value.replace(/\s+/g, '') : ''
}

