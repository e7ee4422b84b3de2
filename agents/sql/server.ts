import { passwordFor } from '#common/mysql/account-password.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import { wantedAtRuntime, wantedOfAdopted } from '#failover/settings/runtime.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import { agentUser, groupUser } from '../instance/accounts.ts'
import type { AgentConfig, FarLogin } from '../instance/config.ts'
import { readServerId } from '../instance/server-id.ts'
import { ownedCount, ownedStatement } from './replication/owned-gtids.ts'
import { agreeingSession, GroupSql } from './replication/group.ts'
import { PersistedSettings } from './settings/persisted-settings.ts'
import type { ServerPort } from '../ports/server.ts'
import { needsOf } from '../needs/needs.ts'
import { beginBinlogAfter, purgeBinlogsBefore, writeEmpty } from './replication/binlog.ts'
import { ChannelPulse } from './replication/channel.ts'
import { endBlocker, readBlockers } from './connections/blockers.ts'
import { cloneInto, cloneLocal, cloneOver, endLocalClones, requireCopied } from './replication/clone.ts'
import { showCertificate } from './settings/certificate.ts'
import { recordEvents, setEvents } from './events.ts'
import { setGates } from './replication/gates.ts'
import { heartbeatSession, writeHeartbeat } from './heartbeat.ts'
import { writeMarker } from './marker.ts'
import { refusedLogins } from './needs/logins.ts'
import { NeedsSql } from './needs/needs-sql.ts'
import { setSetting } from './settings/settings.ts'
import { setPasswords } from './settings/account-passwords.ts'
import { GroupAccount } from './replication/group-account.ts'
import { provisionAccount } from './settings/provision-account.ts'
import type { AdoptedTarget } from './connections/connection.ts'
import { SqlPool } from './connections/pool.ts'
import { ReplicationSql } from './replication/replication.ts'
import { stillView } from './replication/still-view.ts'
import { setSemiSyncReplica, setSemiSyncSource } from './replication/semi-sync.ts'
import { shutDown } from './connections/shutdown.ts'
import { openChangesIn, openChangesStatement } from './connections/open-changes.ts'
import { killDumpThreads, waitSessionsGone } from './connections/dump-threads.ts'
import {
  busySessions,
  endBusySessions,
  foreignSessions,
  killForeignSessions,
  killSessions,
} from './connections/sessions.ts'
import { StateReader } from './state.ts'
import { lookAgainMs, textOf, type RowsOfEach, type Sql } from './connections/statements.ts'
import { volumeLayout } from '../instance/volume-layout.ts'
import { probeWrite } from './write-probe.ts'

interface SqlServerPorts {
  readonly world: { readonly clock: Clock; readonly timers: Timers }
  /** From which account passwords are derived. */
  readonly secret: string
  readonly queryDeadlineMs: number
  /** The login of a far server, and the start to which its sessions may belong. */
  readonly far?: (FarLogin & Pick<AdoptedTarget, 'ownStart'>) | undefined
}

/** `SET GLOBAL read_only` waits for every commit under way. */
const readOnlyMs = 2_000
/** The server ends one session after the other, before it answers: seen to take about a second for a thousand. */
const offlineMs = 15_000
/**
 * So long a change of an account's password waits behind each of somebody's locks: both accounts together for less than
 * `passwords.ts` has patience.
 */
const accountLockSeconds = 2
/** A login over the socket takes milliseconds. */
const loginMs = 500

/**
 * What the agent does to its mysqld, in SQL: through the socket, or the administrative interface when connections are
 * exhausted. What it changes by hand never enters the binary log; markers do, on connections of their own. The probe
 * comes by the interface that clients use.
 */
export function createSqlServer(
  config: AgentConfig,
  { world, secret, queryDeadlineMs, far }: SqlServerPorts,
): ServerPort {
  const session = sessionOf(config)
  const layout = volumeLayout(config.volume)
  const { inside, here } = waysInto(config, secret, far)
  const encrypts = config.tls !== undefined
  const quiet = new SqlPool(inside, `${session}, sql_log_bin = 0`, world)
  const several = new SqlPool(
    inside.map((target) => ({ ...target, several: true })),
    `${session}, sql_log_bin = 0`,
    world,
  )
  const marking = new SqlPool(inside, session, world)
  const beating = new SqlPool(inside, `${session}, ${heartbeatSession}`, world)
  const emptying = new SqlPool(
    inside.map((target) => ({ ...target, several: true })),
    session,
    world,
  )
  const accounts = new SqlPool(inside, `${session}, lock_wait_timeout = ${accountLockSeconds}`, world)
  // Statements on behalf of somebody else: nobody's session is ended for what stands in their way.
  const provisioning = new SqlPool(inside, `${session}, lock_wait_timeout = ${accountLockSeconds}`, world)
  // For minutes: it is no statement of the agent's that somebody keeps waiting.
  const copying = new SqlPool(inside, `${session}, sql_log_bin = 0`, world)
  const client = new SqlPool([here], `${ownSession}, sql_log_bin = 0`, world)
  const sql = createSql({ quiet, several }, world, queryDeadlineMs)
  const isFar = far !== undefined
  const cloning = { sql, clock: world.clock, isFar, long: (told: string, stop: AbortSignal) => quiet.long(told, stop) }
  const password = passwordFor(secret, groupUser)
  const asMember = new SqlPool([{ socketPath: layout.socket, user: groupUser, password }], 'DO 0', world)
  const account = config.mode === 'group' ? new GroupAccount(() => tryLogin(asMember)) : null
  const state = new StateReader(config.cluster, sql, {
    persisted: new PersistedSettings(layout.dataDir),
    pulse: new ChannelPulse(world.clock, { encrypts }),
    wanted: config.far ? wantedOfAdopted({ ...config, ...layout }) : wantedAtRuntime({ ...config, ...layout }),
    serverId: () => (config.far ? Promise.resolve(undefined) : readServerId(layout.dataDir, config.instance)),
    account,
  })
  const replication = new ReplicationSql(sql, { encrypts })

  const agreeing = new SqlPool(inside, `${session}, sql_log_bin = 0, ${agreeingSession}`, world)
  const group = account === null ? undefined : new GroupSql(sql, { agreeing, logging: accounts }, { account, password })

  // In mode `group` no row is logged as a statement (manual, "Group Replication Requirements").
  const asStatements = config.mode === 'group' ? '' : ", binlog_format = 'STATEMENT'"
  const making = new SqlPool(inside, `${ownSession}${asStatements}`, world)
  const tryLogins = () => refusedLogins(inside, world, queryDeadlineMs)
  const needs = new NeedsSql(needsOf(config), {
    sql,
    logged: (statement) => making.query(statement, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' }),
    logsRows: config.mode !== 'group',
    refusedLogins: tryLogins,
    secret,
  })

  const disconnect = () => {
    state.forget()
    const pools = [
      quiet,
      several,
      marking,
      beating,
      emptying,
      accounts,
      provisioning,
      copying,
      client,
      agreeing,
      making,
    ]
    for (const pool of pools) pool.disconnect()
  }

  return {
    readState: () => state.read(queryDeadlineMs),
    readHolds: () => (group ?? replication).holds(),
    ...(group && { group }),
    setReadOnly: async (to, deadlineMs = readOnlyMs) => void (await sql.change(readOnlyStatements[to], deadlineMs)),
    open: async () => void (await sql.change('SET GLOBAL read_only = OFF, GLOBAL offline_mode = OFF', readOnlyMs)),
    setOffline: async (on, deadlineMs = offlineMs) =>
      void (await sql.change(`SET GLOBAL offline_mode = ${on ? 'ON' : 'OFF'}`, on ? deadlineMs : undefined)),
    killForeignSessions: (deadlineMs) => killForeignSessions(sql, deadlineMs),
    killSessions: (ids) => killSessions(sql, ids),
    foreignSessions: () => foreignSessions(sql),
    busySessions: () => busySessions(sql),
    endBusySessions: () => endBusySessions(sql),
    openChanges: async () => openChangesIn(await sql.read(openChangesStatement)),
    async waitingSessions() {
      const [row] = await sql.read(ownedStatement)
      return ownedCount(textOf(row, 'owned'))
    },
    stopReceiver: () => replication.stopReceiver(),
    startReceiver: () => replication.startReceiver(),
    startApplier: () => replication.startApplier(),
    stopApplier: () => replication.stopApplier(),
    pointTo: (source) => replication.pointTo(source),
    setApplierOptions: () => replication.setApplierOptions(),
    setStoppedOptions: (waitMs) => replication.setStoppedOptions(waitMs),
    forgetSource: () => replication.forgetSource(),
    clearFilters: () => replication.clearFilters(),
    stillView: (select) => stillView(replication, () => copying.alone(), select),
    waitExecuted: (set, waitMs) => replication.waitExecuted(set, waitMs),
    waitApplied: (set, stalledMs) => replication.waitApplied(set, stalledMs),
    waitReceived: (set, waitMs) => replication.waitReceived(set, waitMs),
    forgetTail: () => replication.forgetTail(),
    applyTail: (firstFile, gtids, deadlineMs) => replication.applyTail(firstFile, gtids, deadlineMs),
    setSemiSyncReplica: (on) => setSemiSyncReplica(sql, on),
    setSemiSyncSource: (acks) => setSemiSyncSource(sql, acks),
    setGates: (open) => setGates(sql, secret, open),
    killDumpThreads: (keep) => killDumpThreads(sql, keep),
    waitSessionsGone: (ids) => waitSessionsGone(sql, ids),
    writeMarker: (token, slot) =>
      writeMarker(
        (statement) => marking.query(statement, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' }),
        token,
        slot,
      ),
    writeHeartbeat: () =>
      writeHeartbeat((statement) => beating.query(statement, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' })),
    writeEmpty: (gtid) => writeEmpty(emptying, gtid),
    setPasswords: (wish) =>
      setPasswords(
        (statement) => accounts.query(statement, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' }),
        secret,
        wish,
      ),
    provisionAccount: (name, statements, { deadlineMs, mayGoOn }) =>
      provisionAccount(
        (statement, ms) => provisioning.query(statement, { deadlineMs: ms, after: 'leave' }),
        name,
        statements,
        { mayGoOn, leftMs: sql.countdown(deadlineMs) },
      ),
    oldestStatementMs: () => Math.max(...[quiet, several, marking, accounts].map((pool) => pool.oldestMs)),
    blockers: () => readBlockers(sql),
    endBlocker: (blocker) => endBlocker(sql, blocker),
    probeWrite: (deadlineMs) =>
      probeWrite((statement, ms) => client.query(statement, { deadlineMs: ms, after: 'abandon' }), sql, deadlineMs),
    setEvents: (on) => setEvents(sql, on),
    eventChanges: () => state.eventChanges,
    recordEvents: () =>
      recordEvents(sql, (statement) =>
        marking.query(statement, { deadlineMs: Number.POSITIVE_INFINITY, after: 'leave' }),
      ),
    cloneInto: (directory, donor, progress, signal) =>
      cloneInto(cloning, directory, { donor, encrypts, progress, signal }),
    cloneOver: (donor, progress, signal) => cloneOver(cloning, { donor, encrypts, progress, signal }),
    requireCopied: (begunAt) => requireCopied(sql, begunAt),
    cloneLocal: (directory, signal, progress) =>
      cloneLocal(
        { sql, long: (statement, stop) => copying.long(statement, stop), clock: world.clock },
        { directory, signal, progress },
      ),
    endLocalClones: () => endLocalClones(sql),
    showCertificate: (files) => showCertificate(sql, files),
    beginBinlogAfter: (bytes) => beginBinlogAfter(sql, bytes),
    lacks: () => needs.lacks(),
    supply: (what) => needs.supply(what),
    supplyEverywhere: () => needs.supplyEverywhere(),
    whyRefused: async () => {
      const refused = await tryLogins()
      return refused.length < inside.length ? '' : (refused[0]?.why ?? '')
    },
    setSetting: (name, value) => setSetting(sql, name, value),
    purgeBinlogsBefore: (file) => purgeBinlogsBefore(sql, file),
    async shutdown() {
      try {
        await shutDown(sql)
      } finally {
        disconnect()
      }
    },
    disconnect,
  }
}

/** The agent's ways, the best first, and that of clients. */
function waysInto(
  { volume, host, port, adminPort, clientTls }: AgentConfig,
  secret: string,
  far: SqlServerPorts['far'],
) {
  if (far !== undefined) {
    const here = { host, port, overTls: true, ...far }
    return { inside: [here], here }
  }
  const { socket } = volumeLayout(volume)
  const login = { user: agentUser, password: passwordFor(secret, agentUser) }
  const tcp = { host, overTls: clientTls?.required ?? false, ownSocket: socket, ...login }
  return {
    inside: [
      { socketPath: socket, ...login },
      { ...tcp, port: adminPort },
    ],
    here: { ...tcp, port },
  }
}

/** Rejects where the server does not let them in whose connections these are. */
async function tryLogin(pool: SqlPool): Promise<void> {
  try {
    await pool.query('DO 0', { deadlineMs: loginMs, after: 'abandon' })
  } finally {
    pool.disconnect()
  }
}

/** A look at a new primary does not wait until that has applied everything: the agent is to see why that takes long. */
function sessionOf({ mode }: AgentConfig): string {
  return mode === 'group' ? `${ownSession}, group_replication_consistency = 'EVENTUAL'` : ownSession
}

/**
 * Statements that are one each, because they are in the way of a promotion or a switchover. `super_read_only` off comes
 * with `read_only` off, and on with it on (manual).
 */
const readOnlyStatements = {
  accounts: 'SET GLOBAL read_only = ON, GLOBAL super_read_only = OFF',
  closed: 'SET GLOBAL super_read_only = ON',
} as const

function createSql(
  { quiet, several }: { readonly quiet: SqlPool; readonly several: SqlPool },
  { clock, timers }: SqlServerPorts['world'],
  defaultMs: number,
): Sql {
  return {
    read: (statement, deadlineMs = defaultMs) => quiet.query(statement, { deadlineMs, after: 'abandon' }),
    // Rows of rows: that is what the driver makes of several statements.
    readAll: async <Statements extends readonly string[]>(statements: Statements, deadlineMs = defaultMs) =>
      (await several.query(statements.join('; '), {
        deadlineMs,
        after: 'abandon',
      })) as unknown as RowsOfEach<Statements>,
    change: (statement, deadlineMs = defaultMs) => quiet.query(statement, { deadlineMs, after: 'end' }),
    changeUnbroken: (statement, deadlineMs = defaultMs) => quiet.query(statement, { deadlineMs, after: 'leave' }),
    countdown(deadlineMs) {
      const until = clock.monotonicMs() + deadlineMs
      return () => Math.max(1, until - clock.monotonicMs())
    },
    async until(look, waitMs, everyMs = lookAgainMs) {
      const until = clock.monotonicMs() + waitMs
      while (!(await look())) {
        if (clock.monotonicMs() >= until) return false
        await timers.sleep(everyMs)
      }
      return true
    },
  }
}
