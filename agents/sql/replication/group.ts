import type { GroupMember, GroupState, MemberState } from '#topology/snapshot/observation.ts'
import { agreedOn } from '#failover/settings/runtime.ts'
import { groupUser, literal } from '#agents/instance/accounts.ts'
import { groupAccountStatement, groupAccountStatements, type GroupAccount } from './group-account.ts'
import { executedStatement } from './owned-gtids.ts'
import { appliedUpTo, appliedUpToIn, lastError } from './channel.ts'
import { dialectOf } from './dialect.ts'
import type { GroupPort, GroupSettings } from '#agents/ports/group.ts'
import type { Row } from '../connections/statements.ts'
import type { SqlPool } from '../connections/pool.ts'
import { gtidsOf, numberOf, textOf, type Sql } from '../connections/statements.ts'

/** A group may send a transaction before its commit has a time: then since when it is applied tells. */
const committedOrBegun =
  'IF(APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP > 0, APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP, APPLYING_TRANSACTION_START_APPLY_TIMESTAMP)'

/**
 * Members, what they have to do, and errors of the group's channels: what `groupFrom` is to be given the answers of.
 * Until the group was started once the server shows itself alone, as OFFLINE.
 */
export const groupStatements = [
  `SELECT @@server_uuid = MEMBER_ID AS isOwn, MEMBER_ID AS uuid, MEMBER_HOST AS host, MEMBER_PORT AS port, MEMBER_STATE AS state, MEMBER_ROLE AS role,
    MEMBER_VERSION AS version FROM performance_schema.replication_group_members`,
  `SELECT VIEW_ID AS viewId, COUNT_TRANSACTIONS_IN_QUEUE AS certifying, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE AS applying,
    COUNT_TRANSACTIONS_LOCAL_PROPOSED AS proposed
    FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid`,
  `SELECT @@global.group_replication_group_name AS name, @@global.group_replication_consistency AS consistency,
    @@global.group_replication_member_weight AS weight,
    (SELECT RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status
      WHERE CHANNEL_NAME = 'group_replication_applier') AS received,
    (SELECT TIMESTAMPDIFF(MICROSECOND, MIN(${committedOrBegun}), NOW(6))
      FROM performance_schema.replication_applier_status_by_worker
      WHERE CHANNEL_NAME = 'group_replication_applier' AND APPLYING_TRANSACTION <> '') AS lagMicros,
    ${appliedUpTo("'group_replication_applier'")} AS appliedUpToMs,
    (SELECT ${lastError} FROM performance_schema.replication_applier_status_by_worker
      WHERE CHANNEL_NAME LIKE 'group\\_replication\\_%' AND LAST_ERROR_NUMBER <> 0 LIMIT 1) AS applierError,
    (SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_connection_status
      WHERE CHANNEL_NAME LIKE 'group\\_replication\\_%' AND LAST_ERROR_NUMBER <> 0 LIMIT 1) AS connectionError`,
  groupAccountStatement,
] as const

/** What the server answered of its account of the group. */
export function accountIn(rows: readonly (readonly Row[])[]): Row | undefined {
  return rows[3]?.[0]
}

/**
 * @param rows what the server answered to `groupStatements`, in that order
 * @param accountTrouble as `GroupAccount` tells it
 */
export function groupFrom(rows: readonly (readonly Row[])[], accountTrouble = ''): GroupState {
  const [members = [], [stats] = [undefined], [facts] = [undefined]] = rows
  const own = members.find((row) => numberOf(row, 'isOwn') === 1)
  const applierError = textOf(facts, 'applierError')
  return {
    name: textOf(facts, 'name'),
    consistency: textOf(facts, 'consistency'),
    state: own === undefined ? 'OFFLINE' : stateIn(own),
    viewId: textOf(stats, 'viewId'),
    members: members.filter((row) => textOf(row, 'uuid') !== '').map(memberIn),
    certifying: numberOf(stats, 'certifying'),
    applying: numberOf(stats, 'applying'),
    proposed: numberOf(stats, 'proposed'),
    weight: numberOf(facts, 'weight'),
    lagSeconds: lagOf(stats, facts),
    ...appliedUpToIn(facts),
    error: applierError || textOf(facts, 'connectionError'),
    ...(applierError === '' ? {} : { applierError }),
    ...(accountTrouble === '' ? {} : { accountTrouble }),
  }
}

function lagOf(stats: Row | undefined, facts: Row | undefined): number | null {
  const lagMicros = facts?.['lagMicros'] ?? null
  if (lagMicros === null || numberOf(stats, 'applying') === 0) return null
  return Math.max(0, Math.round(Number(lagMicros) / 100_000) / 10)
}

/**
 * What the group has sent here, applied or not.
 * @param rows as those of `groupFrom`
 */
export function receivedFromGroup(rows: readonly (readonly Row[])[]): string {
  return gtidsOf(rows[2]?.[0], 'received')
}

function memberIn(row: Row): GroupMember {
  return {
    uuid: textOf(row, 'uuid'),
    host: textOf(row, 'host'),
    port: numberOf(row, 'port'),
    state: stateIn(row),
    role: textOf(row, 'role') as GroupMember['role'],
    version: textOf(row, 'version'),
  }
}

function stateIn(row: Row): MemberState {
  return (textOf(row, 'state') || 'OFFLINE') as MemberState
}

/** Asked twenty times a second: a look at everything costs fifty times as much. */
const viewStatement =
  'SELECT VIEW_ID AS viewId FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid'

/** Its member sends the group a message at the start of each transaction, and waits for that to be agreed on. */
export const agreeingSession = "group_replication_consistency = 'BEFORE'"
/** Only a table of the server's own data begins a transaction that waits. */
const emptyStatement = 'SELECT 1 FROM mysql.user LIMIT 0'
const agreeMs = 300

/** A start returns once the member is in a view, or the plugin gave up: it waits for a view for at most a minute. */
const startMs = 90_000
const stopMs = 60_000
/** A change of an account that hangs stands behind somebody's global lock. */
const accountMs = 3_000

/** What this server does as a member of a replication group, in SQL. */
export class GroupSql implements GroupPort {
  readonly #sql: Sql
  readonly #agreeing: Pick<SqlPool, 'query'>
  readonly #logging: Pick<SqlPool, 'query'>
  readonly #account: GroupAccount
  readonly #password: string

  /**
   * @param agreeing connections whose transactions begin once the group has agreed on that (`agreeingSession`)
   * @param logging connections whose changes enter the binary log
   * @param password of `groupUser`
   */
  constructor(
    sql: Sql,
    { agreeing, logging }: Readonly<Record<'agreeing' | 'logging', Pick<SqlPool, 'query'>>>,
    { account, password }: { readonly account: GroupAccount; readonly password: string },
  ) {
    this.#sql = sql
    this.#agreeing = agreeing
    this.#logging = logging
    this.#account = account
    this.#password = password
  }

  async agree(): Promise<void> {
    await this.#agreeing.query(emptyStatement, { deadlineMs: agreeMs, after: 'abandon' })
  }

  async viewId(): Promise<string> {
    const [row] = await this.#sql.read(viewStatement)
    return textOf(row, 'viewId')
  }

  async start(settings: GroupSettings, forms: boolean): Promise<void> {
    await this.#configure(settings)
    await this.#sql.change(`SET GLOBAL group_replication_bootstrap_group = ${forms ? 'ON' : 'OFF'}`)
    try {
      await this.#sql.changeUnbroken('START GROUP_REPLICATION', startMs)
    } finally {
      // Never left on: the next start would form a second group.
      if (forms) await this.#sql.change('SET GLOBAL group_replication_bootstrap_group = OFF')
    }
  }

  async #configure({ name, seeds, consistency }: GroupSettings): Promise<void> {
    await this.#sql.change(
      [
        `SET GLOBAL group_replication_group_name = ${literal(name)}`,
        `GLOBAL group_replication_group_seeds = ${literal(seeds.join())}`,
        `GLOBAL group_replication_consistency = ${literal(consistency)}`,
      ].join(', '),
    )
    await this.#sql.change(
      `CHANGE REPLICATION SOURCE TO SOURCE_USER = ${literal(groupUser)}, SOURCE_PASSWORD = ${literal(this.#password)} FOR CHANNEL 'group_replication_recovery'`,
    )
  }

  async stop(deadlineMs = stopMs): Promise<void> {
    await this.#sql.changeUnbroken('STOP GROUP_REPLICATION', deadlineMs)
  }

  /** See the manual, "Changing the Primary". */
  async electPrimary(uuid: string, { graceMs, deadlineMs }: { graceMs: number; deadlineMs: number }): Promise<void> {
    const [row] = await this.#sql.read('SELECT @@version AS version')
    const statement = dialectOf(textOf(row, 'version')).electPrimary(literal(uuid), Math.ceil(graceMs / 1_000))
    await this.#sql.change(statement, deadlineMs)
  }

  /** See the manual, "Changing the Group Mode". */
  async leadAlone(uuid: string, deadlineMs: number): Promise<void> {
    await this.#sql.change(`SELECT group_replication_switch_to_single_primary_mode(${literal(uuid)})`, deadlineMs)
  }

  /** The function that changes the mode persists it. */
  async forgetMode(): Promise<void> {
    for (const name of agreedOn) await this.#sql.change(`RESET PERSIST IF EXISTS ${name}`)
  }

  async setConsistency(consistency: string): Promise<void> {
    await this.#sql.change(`SET GLOBAL group_replication_consistency = ${literal(consistency)}`)
  }

  async protocol(): Promise<string> {
    const [row] = await this.#sql.read('SELECT group_replication_get_communication_protocol() AS protocol')
    return textOf(row, 'protocol')
  }

  async setProtocol(version: string, deadlineMs: number): Promise<void> {
    await this.#sql.change(`SELECT group_replication_set_communication_protocol(${literal(version)})`, deadlineMs)
  }

  /** A write concurrency that is set is another configuration, whatever the number. The group agrees on it later. */
  async repeatConfiguration(): Promise<void> {
    const [row] = await this.#sql.read('SELECT group_replication_get_write_concurrency() AS concurrency')
    await this.#sql.change(`SELECT group_replication_set_write_concurrency(${numberOf(row, 'concurrency')})`)
  }

  async setAccount(inBinlog: boolean): Promise<void> {
    for (const statement of groupAccountStatements(this.#password))
      if (inBinlog) await this.#logging.query(statement, { deadlineMs: accountMs, after: 'end' })
      else await this.#sql.change(statement, accountMs)
    const [row] = await this.#sql.read(groupAccountStatement)
    this.#account.isRight(row)
  }

  async applyReceived(): Promise<void> {
    await this.#sql.changeUnbroken("START REPLICA SQL_THREAD FOR CHANNEL 'group_replication_applier'")
  }

  /** In the order received, executed, so that nothing that moves in between is missed. */
  async holds(): Promise<{ executed: string; received: string; owned: string }> {
    const [[facts], [row]] = await this.#sql.readAll([groupStatements[2], executedStatement])
    return { received: gtidsOf(facts, 'received'), executed: gtidsOf(row, 'executed'), owned: '' }
  }
}
