import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import type { Wanted as WantedSetting } from '#failover/settings/runtime.ts'
import type { ChangedSetting, ServerState } from '#topology/snapshot/observation.ts'
import { literal } from '../instance/accounts.ts'
import { replicationUserPrefix } from '../ports/server.ts'
import { channelFrom, channelStatements, type ChannelPulse } from './replication/channel.ts'
import { dialectOf } from './replication/dialect.ts'
import { accountIn, groupFrom, groupStatements, receivedFromGroup } from './replication/group.ts'
import { judgeOwned, ownedStatement } from './replication/owned-gtids.ts'
import { isRotated, passwordColumns, passwordIn } from './settings/account-passwords.ts'
import type { GroupAccount } from './replication/group-account.ts'
import type { PersistedSettings } from './settings/persisted-settings.ts'
import { flagOf, gtidsOf, numberOf, textOf, type Sql } from './connections/statements.ts'
import type { Row } from './connections/statements.ts'
import { openChangesIn, openChangesStatement } from './connections/open-changes.ts'
import { dumpThreadsIn, dumpThreadsStatement } from './connections/dump-threads.ts'

const variables = (
  settings: Iterable<string>,
) => `SELECT @@server_uuid AS uuid, @@version AS version, @@global.read_only AS readOnly, @@global.super_read_only AS superReadOnly,
  @@global.offline_mode AS offlineMode, @@global.gtid_executed AS executed, @@global.gtid_purged AS purged,
  @@global.rpl_semi_sync_source_timeout >= 31536000000 AND @@global.rpl_semi_sync_source_wait_no_replica = 1
    AND @@global.rpl_semi_sync_source_wait_point = 'AFTER_SYNC' AS intact,
  @@global.rpl_semi_sync_source_enabled AS semiSync, @@global.rpl_semi_sync_source_wait_for_replica_count AS acks,
  ${[...settings].map((name) => `@@global.${name} AS ${name}`).join(', ')}`

const statuses = `SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.global_status
  WHERE VARIABLE_NAME IN ('Rpl_semi_sync_source_wait_sessions', 'Rpl_semi_sync_source_no_tx', 'Rpl_semi_sync_replica_status', 'Threads_running')
  UNION ALL SELECT 'event changes', SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_global_by_event_name
  WHERE EVENT_NAME IN ('statement/sql/create_event', 'statement/sql/alter_event', 'statement/sql/drop_event')`

/** Gates that are open, and the passwords of the other accounts: one look at the table of both. */
const accounts = String.raw`SELECT user, ${passwordColumns} FROM mysql.user WHERE host = '%' AND ((user LIKE 'regent\_r\_%' AND account_locked = 'N') OR ${isRotated})`

const foreignTables = `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB'
  AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 10`

/** A dictionary of a hundred thousand tables takes seconds; nothing waits for it. */
const foreignTablesMs = 30_000

type Wanted = ReadonlyMap<string, WantedSetting>

/** Reads what is reported of the server, keeping between two reads what is dear or what only a comparison tells. */
export class StateReader {
  readonly #cluster: string
  readonly #sql: Sql
  readonly #persisted: PersistedSettings
  readonly #pulse: ChannelPulse
  readonly #wanted: Wanted
  readonly #readServerId: () => Promise<number | undefined>
  readonly #account: GroupAccount | null
  #serverId: number | undefined
  #foreignTables: ForeignTables | null = null
  #dialect: Dialect | null = null
  /** How often events were changed since this server started, as it was seen last. */
  eventChanges = 0

  constructor(
    cluster: string,
    sql: Sql,
    {
      persisted,
      pulse,
      wanted,
      serverId,
      account,
    }: {
      persisted: PersistedSettings
      pulse: ChannelPulse
      wanted: Wanted
      /** The `server_id` of the data folder; undefined where nobody can say. */
      serverId: () => Promise<number | undefined>
      account: GroupAccount | null
    },
  ) {
    this.#cluster = cluster
    this.#sql = sql
    this.#persisted = persisted
    this.#pulse = pulse
    this.#wanted = wanted
    this.#readServerId = serverId
    this.#account = account
  }

  /** The server may be another one from now on. */
  forget(): void {
    this.#foreignTables = null
    this.#dialect = null
    this.#serverId = undefined
    this.#pulse.forgetAll()
  }

  /**
   * In the order received, owned, executed: a transaction that moves on in between is then seen twice rather than
   * never. All in one message, and one answer: several times a second each of them costs more than what is asked.
   * @param deadlineMs for all of it together
   */
  async read(deadlineMs: number): Promise<ServerState> {
    const left = this.#sql.countdown(deadlineMs)
    const { showBinlog, wanted } = (this.#dialect ??= await this.#askForDialect(left()))
    const asked = [
      ...channelStatements,
      ownedStatement,
      variables(new Set([...wanted.keys(), 'server_id'])),
      statuses,
      dumpThreadsStatement,
      accounts,
      showBinlog,
      openChangesStatement,
      ...(this.#account === null ? [] : groupStatements),
    ] as const
    const [replica, pulse, [ownedRow], [row], counts, dumps, found, [binlog], changes, ...group] =
      await this.#sql.readAll(asked, left())
    const openChanges = openChangesIn(changes)
    const channel = this.#pulse.from(replica, pulse)
    const executed = gtidsOf(row, 'executed')
    const seen = { printed: textOf(ownedRow, 'owned'), received: channel?.received, executed }
    const { whole } = await judgeOwned(this.#sql, seen, left())
    const status = new Map(counts.map((one) => [textOf(one, 'name'), textOf(one, 'value')]))
    const counter = (name: string): number => Number(status.get(name) ?? 0)
    this.eventChanges = counter('event changes')
    const open = found.filter((row) => textOf(row, 'user').startsWith(replicationUserPrefix))
    return {
      ...factsFrom(row),
      owned: whole,
      received: channel?.received ?? '',
      ...(await this.#asMember(group)),
      channel:
        channel &&
        channelFrom(channel, {
          semiSync: status.get('Rpl_semi_sync_replica_status') === 'ON',
          backlog: Number(unappliedOf({ received: channel.received, executed }).count()),
        }),
      dumpThreads: dumpThreadsIn(dumps),
      semiSyncSource: {
        enabled: flagOf(row, 'semiSync'),
        intact: flagOf(row, 'intact'),
        acks: numberOf(row, 'acks'),
        waiting: counter('Rpl_semi_sync_source_wait_sessions'),
        unacknowledged: counter('Rpl_semi_sync_source_no_tx'),
      },
      openGates: open.map((row) =>
        instanceName(this.#cluster, Number(textOf(row, 'user').slice(replicationUserPrefix.length))),
      ),
      runningSessions: counter('Threads_running'),
      binlogNumber: binlogNumberIn(textOf(binlog, 'File')),
      binlogPosition: numberOf(binlog, 'Position'),
      foreignTables: await this.#foreign(left()),
      // A file that cannot be read must not make its server look silent.
      persisted: await this.#persisted.names().catch(() => []),
      ...(openChanges.length > 0 ? { openChanges } : {}),
      ...changedIn(row, await this.#wantedNow(wanted)),
      passwords: found.filter((row) => !open.includes(row)).map(passwordIn),
    }
  }

  /** With what belongs to the data folder that this server runs on. */
  async #wantedNow(wanted: Wanted): Promise<Wanted> {
    this.#serverId ??= await this.#readServerId().catch(() => undefined)
    const value = this.#serverId === undefined ? undefined : String(this.#serverId)
    return value === undefined
      ? wanted
      : new Map([
          ...wanted,
          [
            'server_id',
            { valueFor: () => value, isRight: (seen: string) => seen === value, refusesWrites: false },
          ] as const,
        ])
  }

  /** A setting that this version has not, or no more, is not asked for. */
  async #askForDialect(deadlineMs: number): Promise<Dialect> {
    const names = [...this.#wanted.keys()].map(literal).join(', ')
    const [[version], found] = await this.#sql.readAll(
      [
        'SELECT @@version AS version',
        `SELECT VARIABLE_NAME AS name FROM performance_schema.global_variables WHERE VARIABLE_NAME IN (${names})`,
      ],
      deadlineMs,
    )
    const has = new Set(found.map((row) => textOf(row, 'name')))
    return {
      showBinlog: dialectOf(textOf(version, 'version')).showBinlog,
      wanted: new Map([...this.#wanted].filter(([name]) => has.has(name))),
    }
  }

  /** What a member of a replication group received it received from the group. */
  async #asMember(rows: readonly (readonly Row[])[]): Promise<Partial<ServerState>> {
    if (this.#account === null) return {}
    const trouble = await this.#account.trouble(accountIn(rows))
    return { received: receivedFromGroup(rows), group: groupFrom(rows, trouble) }
  }

  /**
   * Asked once per server; a dictionary so large that the answer takes long is not waited for, and told by a later
   * read.
   */
  async #foreign(patienceMs: number): Promise<readonly string[]> {
    const asked = (this.#foreignTables ??= this.#askForForeignTables())
    await this.#sql.until(async () => asked.names !== undefined || asked.failed, patienceMs / 2)
    if (asked.failed && this.#foreignTables === asked) this.#foreignTables = null
    return asked.names ?? []
  }

  #askForForeignTables(): ForeignTables {
    const asked: ForeignTables = { names: undefined, failed: false }
    this.#sql.read(foreignTables, foreignTablesMs).then(
      (rows) => (asked.names = rows.map((row) => textOf(row, 'name'))),
      () => (asked.failed = true),
    )
    return asked
  }
}

/** What one server understands. */
interface Dialect {
  readonly showBinlog: string
  readonly wanted: Wanted
}

interface ForeignTables {
  names: readonly string[] | undefined
  /** Then it is asked again at the next read. */
  failed: boolean
}

function changedIn(row: Row | undefined, wanted: Wanted): Pick<ServerState, 'changedSettings'> {
  const changed = [...wanted].flatMap(([name, { valueFor, isRight, refusesWrites }]): readonly ChangedSetting[] => {
    const seen = textOf(row, name)
    return isRight(seen) ? [] : [{ name, seen, wanted: valueFor(seen), ...(refusesWrites && { refusesWrites: true }) }]
  })
  return changed.length === 0 ? {} : { changedSettings: changed }
}

function factsFrom(
  row: Row | undefined,
): Pick<ServerState, 'uuid' | 'version' | 'readOnly' | 'superReadOnly' | 'offlineMode' | 'executed' | 'purged'> {
  return {
    uuid: textOf(row, 'uuid'),
    version: textOf(row, 'version'),
    readOnly: flagOf(row, 'readOnly'),
    superReadOnly: flagOf(row, 'superReadOnly'),
    offlineMode: flagOf(row, 'offlineMode'),
    executed: gtidsOf(row, 'executed'),
    purged: gtidsOf(row, 'purged'),
  }
}
