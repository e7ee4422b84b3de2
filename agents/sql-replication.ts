import { RegentError } from '../src/common/errors.ts'
import { GtidSet, parseGtidSet } from '../topology/gtid-set.ts'
import type { GtidText } from '../topology/observation.ts'
import { literal } from './accounts.ts'
import { ownedSet } from './owned-gtids.ts'
import { gtidsOf, textOf, type Sql } from './sql.ts'
import { readChannelRow } from './sql-channel.ts'
import { errnoOf } from './sql-failure.ts'
import type { Row } from './sql-connection.ts'

/** A receiver that is just connecting to an address that does not answer ends with its own time-out (replica_net_timeout, 5 s), no sooner. */
const stopMs = 7_000
/**
 * A start that takes long is left alone. It waits for threads that are being made, under a mutex that KILL wants while it holds the session's, and whoever counts sessions wants that one while it keeps new threads out:
 * seen with 9.7 on a busy machine, and the server answers nobody any more.
 */
const startMs = 6_000
/** How long a started applier is watched for its first transaction; one that takes longer is a large one. */
const provenMs = 500
/** `ER_BAD_SLAVE`/`ER_REPLICA_CHANNEL_DOES_NOT_EXIST`: there is no channel. */
const noChannel: ReadonlySet<number> = new Set([1200, 3074])
/** What is held, in one round trip: it is in the way of promises and openings. */
const holdsStatements = ["SELECT RECEIVED_TRANSACTION_SET AS received FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = ''", 'SELECT @@global.gtid_owned AS owned', 'SELECT @@global.gtid_executed AS executed'] as const
/** Retries, one a second: thirty years. Not 0, which the manual calls infinite and the server's code does not treat so everywhere. */
const retryCount = 1_000_000_000

export interface Source {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

/** What this server does as a replica, in SQL. */
export class ReplicationSql {
  readonly #sql: Sql
  readonly #encrypts: boolean

  /** @param options `encrypts`: what is received comes over TLS, or not at all */
  constructor(sql: Sql, { encrypts }: { readonly encrypts: boolean }) {
    this.#sql = sql
    this.#encrypts = encrypts
  }

  stopReceiver(): Promise<void> {
    return this.#onChannel('STOP REPLICA IO_THREAD', stopMs)
  }

  async startReceiver(): Promise<void> {
    await this.#sql.changeUnbroken('START REPLICA IO_THREAD', startMs)
  }

  async startApplier(): Promise<void> {
    await this.#sql.changeUnbroken('START REPLICA SQL_THREAD', startMs)
  }

  /** Waits for the transaction being applied. */
  stopApplier(): Promise<void> {
    return this.#onChannel('STOP REPLICA SQL_THREAD', stopMs)
  }

  /**
   * With both threads stopped CHANGE REPLICATION SOURCE throws away what was received and not applied, even for the same source. With the applier running it throws nothing away, and then SOURCE_AUTO_POSITION
   * may not be in the statement; it is kept (design §5, "More ways to lose"). Compares what is held before and after, and says if something is missing.
   */
  async pointTo(source: Source): Promise<void> {
    const channel = await this.#channel()
    const before = await this.#held()
    const keepsPosition = textOf(channel, 'Auto_Position') === '1'
    const backlog = before.received.subtract(before.executed)
    if (backlog.isEmpty()) await this.#repoint(source, keepsPosition && textOf(channel, 'Replica_SQL_Running') === 'Yes')
    else await this.#repointApplying(source, keepsPosition, backlog)
    const after = await this.#held()
    const lost = before.received.subtract(after.received.union(after.executed))
    if (!lost.isEmpty()) throw new RegentError('REGENT_SERVER_ERROR', `repointing to ${source.host}:${source.port} threw away ${lost.count()} received transactions: the applier stopped meanwhile`)
  }

  async #repointApplying(source: Source, keepsPosition: boolean, backlog: GtidSet): Promise<void> {
    if (!keepsPosition) throw new RegentError('REGENT_SERVER_ERROR', `the channel follows by file position and has ${backlog.count()} transactions to apply: repointing it now would throw them away`)
    if (textOf(await this.#channel(), 'Replica_SQL_Running') !== 'Yes') {
      await this.startApplier()
      await this.#sql.until(() => this.#appliesSome(backlog), provenMs)
    }
    await this.#repoint(source, true)
  }

  async #repoint(source: Source, applierRuns: boolean): Promise<void> {
    const options = [
      `SOURCE_HOST = ${literal(source.host)}`,
      `SOURCE_PORT = ${source.port}`,
      `SOURCE_USER = ${literal(source.user)}`,
      `SOURCE_PASSWORD = ${literal(source.password)}`,
      'SOURCE_CONNECT_RETRY = 1',
      `SOURCE_RETRY_COUNT = ${retryCount}`,
      'SOURCE_HEARTBEAT_PERIOD = 0.5',
      'GET_SOURCE_PUBLIC_KEY = 1',
      ...(this.#encrypts ? ['SOURCE_SSL = 1'] : []),
    ]
    if (!applierRuns) {
      await this.stopApplier()
      options.push('SOURCE_AUTO_POSITION = 1')
    }
    await this.#sql.change(`CHANGE REPLICATION SOURCE TO ${options.join(', ')} FOR CHANNEL ''`, stopMs)
  }

  async forgetSource(): Promise<void> {
    await this.#onChannel('STOP REPLICA', stopMs)
    await this.#onChannel('RESET REPLICA ALL', stopMs)
  }

  /** The applier must be stopped for it; it runs again after where it ran before. */
  async clearFilters(): Promise<void> {
    const applierRuns = textOf(await this.#channel(), 'Replica_SQL_Running') === 'Yes'
    await this.stopApplier()
    const kinds = ['DO_DB', 'IGNORE_DB', 'DO_TABLE', 'IGNORE_TABLE', 'WILD_DO_TABLE', 'WILD_IGNORE_TABLE', 'REWRITE_DB']
    await this.#sql.change(`CHANGE REPLICATION FILTER ${kinds.map((kind) => `REPLICATE_${kind} = ()`).join(', ')}`, stopMs)
    if (applierRuns) await this.startApplier()
  }

  /** Received, owned, executed, in this order: what moves on in between is seen twice rather than never. */
  async holds(): Promise<{ executed: GtidText; owned: GtidText; received: GtidText }> {
    const [[received], [owned], [executed]] = await this.#sql.readAll(holdsStatements)
    return { executed: gtidsOf(executed, 'executed'), owned: ownedSet(textOf(owned, 'owned')), received: gtidsOf(received, 'received') }
  }

  async waitExecuted(set: GtidText, waitMs: number): Promise<boolean> {
    if (set === '') return true
    // Zero seconds would mean for ever.
    const seconds = Math.max(0.001, waitMs / 1_000)
    const [row] = await this.#sql.read(`SELECT WAIT_FOR_EXECUTED_GTID_SET(${literal(set)}, ${seconds}) AS late`, waitMs + stopMs)
    return textOf(row, 'late') === '0'
  }

  /** Nothing in the server waits for reception. */
  async waitReceived(set: GtidText, waitMs: number): Promise<boolean> {
    const wanted = parseGtidSet(set)
    return this.#sql.until(async () => {
      const { received, executed } = await this.#held()
      return received.union(executed).contains(wanted)
    }, waitMs)
  }

  /** An applier that was just started has not shown yet that it can apply: one that an error stops in the middle of a repointing would lose what it has. Rejects with that error. */
  async #appliesSome(backlog: GtidSet): Promise<boolean> {
    const error = textOf(await this.#channel(), 'Last_SQL_Error')
    if (error !== '') throw new RegentError('REGENT_SERVER_ERROR', `${backlog.count()} received transactions cannot be applied, and repointing would throw them away: ${error.slice(0, 300)}`)
    return !(await this.#held()).executed.intersect(backlog).isEmpty()
  }

  async #held(): Promise<{ received: GtidSet; executed: GtidSet }> {
    const { received, executed } = await this.holds()
    return { received: parseGtidSet(received), executed: parseGtidSet(executed) }
  }

  #channel(): Promise<Row | undefined> {
    return readChannelRow((statement) => this.#sql.read(statement))
  }

  async #onChannel(statement: string, deadlineMs: number): Promise<void> {
    try {
      await this.#sql.change(statement, deadlineMs)
    } catch (error) {
      if (!noChannel.has(errnoOf(error))) throw error
    }
  }
}
