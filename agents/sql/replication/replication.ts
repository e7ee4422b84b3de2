import { hostPort } from '#common/text/host-port.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { nobodysAddress } from '#topology/snapshot/replication-tree.ts'
import { tailChannel } from '#agents/ports/tail.ts'
import { literal } from '#agents/instance/accounts.ts'
import { executedStatement, judgeOwned, ownedStatement, receivedStatement, threadsStatement } from './owned-gtids.ts'
import { kill } from '../connections/sessions.ts'
import { gtidsOf, numberOf, textOf, type Sql } from '../connections/statements.ts'
import { readChannel } from './channel.ts'
import { optionsToSet } from './channel-options.ts'
import { errnoOf } from '../connections/failure.ts'
import type { Row } from '../connections/statements.ts'

/**
 * A receiver that is just connecting to an address that does not answer ends with its own time-out
 * (replica_net_timeout, 5 s), no sooner.
 */
const stopMs = 7_000
/**
 * A start that takes long is left alone. The start waits for threads that are being made, under a mutex that KILL wants
 * while KILL holds the session's mutex. A count of sessions wants that mutex while it keeps new threads out: seen with
 * 9.7 on a busy machine, and the server answers nobody any more.
 */
const startMs = 6_000
/** How long a started applier is watched for its first transaction; one that takes longer is a large one. */
const provenMs = 500
/** `ER_BAD_SLAVE`/`ER_REPLICA_CHANNEL_DOES_NOT_EXIST`: there is no channel. */
const noChannel: ReadonlySet<number> = new Set([1200, 3074])
/** What its source said when the receiver gave up: what it needs is purged, or cannot be read. */
const ending: ReadonlySet<number> = new Set([1236, 13114, 13117])
/** How often the applier of a tail is looked at, which an error may have stopped. */
const lookAtTailMs = 200
/** A worker's words name the transaction, the coordinator's do not. */
const tailErrorStatement = `SELECT COALESCE(MAX(NULLIF(w.LAST_ERROR_MESSAGE, '')), MAX(c.LAST_ERROR_MESSAGE)) AS error
  FROM performance_schema.replication_applier_status_by_coordinator c
  LEFT JOIN performance_schema.replication_applier_status_by_worker w USING (CHANNEL_NAME)
  WHERE CHANNEL_NAME = '${tailChannel}'`
/** Something else as soon as an applier has gone on, also within a large transaction. */
const progressStatement = `SELECT @@global.gtid_executed AS executed,
  (SELECT SUM(trx_rows_modified) FROM information_schema.INNODB_TRX) AS changed`
/** What is held, in one round trip: a promise and an opening wait for the answer. */
const holdsStatements = [receivedStatement, ownedStatement, executedStatement] as const

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

  /**
   * Waits for the transaction being applied. A transaction that was received in part, when all before is applied, is
   * given up: the server would wait 60 s for the rest (`SLAVE_WAIT_GROUP_DONE` in `sql/rpl_replica.cc`).
   */
  async stopApplier(): Promise<void> {
    const { received, executed, partial, arriving } = await this.holds()
    if ((partial !== '' || arriving !== '') && unappliedOf({ received, executed }).isEmpty())
      await this.#killCoordinator()
    await this.#onChannel('STOP REPLICA SQL_THREAD', stopMs)
  }

  /** A coordinator that is killed waits for nothing, but only where nobody has asked for its stop before. */
  async #killCoordinator(): Promise<void> {
    for (const row of await this.#sql.read(threadsStatement('coordinator'))) await kill(this.#sql, numberOf(row, 'id'))
    await this.#sql.until(async () => textOf((await this.#read()).channel, 'Replica_SQL_Running') !== 'Yes', stopMs)
  }

  /**
   * With both threads stopped CHANGE REPLICATION SOURCE throws away what was received and not applied, even for the
   * same source. With the applier running it throws nothing away, and then SOURCE_AUTO_POSITION may not be in the
   * statement; it is kept (docs/why/safety.md, "Nothing is destroyed on a guess"). Compares what is held before and
   * after, and says if something is missing.
   */
  async pointTo(source: Source): Promise<void> {
    const { channel, options, hasTail } = await this.#read()
    // Left by an agent that died, or was not elected after all: what it applies nobody need have any more.
    if (hasTail) await this.forgetTail()
    const before = await this.#held()
    const keepsPosition = textOf(channel, 'Auto_Position') === '1'
    const backlog = before.received.subtract(before.executed)
    if (backlog.isEmpty())
      await this.#repoint(source, options, keepsPosition && textOf(channel, 'Replica_SQL_Running') === 'Yes')
    else {
      if (!keepsPosition)
        throw new RegentError(
          'REGENT_SERVER_ERROR',
          say`the channel follows by file position and has ${counted(backlog.count(), 'transaction')} to apply: repointing it now would throw that away`,
        )
      await this.#proveApplier(backlog)
      await this.#repoint(source, options, true)
    }
    await this.#nothingLost(before.received, say`repointing to ${hostPort(source.host, source.port)}`)
  }

  async #proveApplier(backlog: GtidSet): Promise<void> {
    if (textOf((await this.#read()).channel, 'Replica_SQL_Running') === 'Yes') return
    await this.startApplier()
    await this.#sql.until(() => this.#appliesSome(backlog), provenMs)
  }

  async #nothingLost(before: GtidSet, what: Sayable): Promise<void> {
    const { received, executed } = await this.#held()
    const lost = before.subtract(received.union(executed))
    if (!lost.isEmpty())
      throw new RegentError(
        'REGENT_SERVER_ERROR',
        say`${what} threw away ${counted(lost.count(), 'received transaction')}: the applier stopped meanwhile`,
      )
  }

  async #repoint(source: Source, options: Row | undefined, applierRuns: boolean): Promise<void> {
    const changes = [
      `SOURCE_HOST = ${literal(source.host)}`,
      `SOURCE_PORT = ${source.port}`,
      `SOURCE_USER = ${literal(source.user)}`,
      `SOURCE_PASSWORD = ${literal(source.password)}`,
      ...optionsToSet(options, { encrypts: this.#encrypts, stopped: 'receiver', isWhole: true }),
    ]
    if (!applierRuns) {
      await this.stopApplier()
      changes.push('SOURCE_AUTO_POSITION = 1')
    }
    await this.#change(changes)
  }

  /**
   * A delay is not waited for, and nothing received is thrown away: a receiver that might end meanwhile, or is stopped,
   * goes on at an address where nobody is.
   */
  async setApplierOptions(): Promise<void> {
    const { channel, options } = await this.#read()
    const changes = optionsToSet(options, { encrypts: this.#encrypts, stopped: 'applier' })
    if (channel === undefined || changes.length === 0) return
    const before = await this.#held()
    const parks = !goesOnReceiving(channel) && !before.executed.contains(before.received)
    if (parks) await this.#park(options, before.received.subtract(before.executed))
    try {
      await this.stopApplier()
      if (parks && textOf((await this.#read()).channel, 'Replica_IO_Running') === 'No')
        throw new RegentError(
          'REGENT_SERVER_ERROR',
          say`both threads are stopped: ${changes.join(', ')} would throw away what is received and not applied`,
        )
      await this.#change(changes)
    } finally {
      if (parks) await this.stopReceiver()
      await this.startApplier()
    }
    await this.#nothingLost(before.received, changes.join(', '))
  }

  async #park(options: Row | undefined, backlog: GtidSet): Promise<void> {
    await this.stopReceiver()
    await this.#proveApplier(backlog)
    const { host, port } = nobodysAddress
    const receiver = optionsToSet(options, { encrypts: this.#encrypts, stopped: 'receiver', isWhole: true })
    await this.#change([`SOURCE_HOST = ${literal(host)}`, `SOURCE_PORT = ${port}`, "SOURCE_PASSWORD = ''", ...receiver])
    await this.startReceiver()
    await this.#sql.until(async () => textOf((await this.#read()).channel, 'Replica_IO_Running') !== 'No', provenMs)
  }

  /** Only where everything received is applied: the server throws the rest away. */
  async setStoppedOptions(waitMs: number): Promise<boolean> {
    const { options } = await this.#read()
    const changes = optionsToSet(options, { encrypts: this.#encrypts, stopped: 'both' })
    if (changes.length === 0) return true
    await this.stopReceiver()
    const { received } = await this.holds()
    if (!(await this.waitExecuted(received, waitMs))) return false
    await this.stopApplier()
    try {
      await this.#change(changes)
    } finally {
      await this.startApplier()
    }
    return true
  }

  async #change(changes: readonly string[]): Promise<void> {
    await this.#sql.change(`CHANGE REPLICATION SOURCE TO ${changes.join(', ')} FOR CHANNEL ''`, stopMs)
  }

  async forgetSource(): Promise<void> {
    await this.stopReceiver()
    await this.stopApplier()
    await this.#onChannel('RESET REPLICA ALL', stopMs)
  }

  async forgetTail(): Promise<void> {
    await this.#onChannel(`STOP REPLICA FOR CHANNEL '${tailChannel}'`, stopMs)
    await this.#onChannel(`RESET REPLICA ALL FOR CHANNEL '${tailChannel}'`, stopMs)
  }

  /**
   * Nobody connects anywhere: the receiver of that channel is never started. A worker of the usual channel that got a
   * transaction in part owns its GTID, and waits for the rest. The applier of the tail would wait for that GTID for
   * ever, so the usual applier stops. After a start of mysqld the part shows only once that worker has begun.
   */
  async applyTail(firstFile: string, gtids: GtidText, stalledMs: number): Promise<void> {
    let isAlone = false
    const stopUsualApplier = async (): Promise<void> => {
      if (isAlone || !(await this.#gotAPart())) return
      isAlone = true
      await this.stopApplier()
    }
    try {
      await stopUsualApplier()
      await this.#startTail(firstFile)
      const isApplied = await this.waitApplied(gtids, stalledMs, async () => {
        await this.#refuseFailedTail()
        await stopUsualApplier()
      })
      if (!isApplied)
        throw new RegentError('REGENT_TIMED_OUT', say`nothing of the tail was applied for ${stalledMs} ms`)
    } finally {
      if (isAlone) await this.startApplier()
    }
  }

  async #gotAPart(): Promise<boolean> {
    const { partial, arriving } = await this.holds()
    return partial !== '' || arriving !== ''
  }

  async #startTail(firstFile: string): Promise<void> {
    await this.#sql.change(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'volume', SOURCE_USER = 'nobody', ` +
        `RELAY_LOG_FILE = ${literal(firstFile)}, RELAY_LOG_POS = 4 FOR CHANNEL '${tailChannel}'`,
      stopMs,
    )
    await this.#sql.changeUnbroken(`START REPLICA SQL_THREAD FOR CHANNEL '${tailChannel}'`, startMs)
  }

  async #refuseFailedTail(): Promise<void> {
    const [row] = await this.#sql.read(tailErrorStatement)
    const error = textOf(row, 'error')
    if (error !== '')
      throw new RegentError('REGENT_SERVER_ERROR', say`the tail cannot be applied: ${reported(error.slice(0, 300))}`)
  }

  /** @param look rejects where waiting is of no use */
  async waitApplied(set: GtidText, stalledMs: number, look = (): Promise<void> => Promise.resolve()): Promise<boolean> {
    let [before, leftMs] = ['', this.#sql.countdown(stalledMs)]
    while (!(await this.waitExecuted(set, Math.min(lookAtTailMs, leftMs())))) {
      await look()
      const progress = JSON.stringify(await this.#sql.read(progressStatement))
      if (progress !== before) [before, leftMs] = [progress, this.#sql.countdown(stalledMs)]
      if (leftMs() <= 1) return false
    }
    return true
  }

  /** The applier must be stopped for it; it runs again after where it ran before. */
  async clearFilters(): Promise<void> {
    const applierRuns = textOf((await this.#read()).channel, 'Replica_SQL_Running') === 'Yes'
    await this.stopApplier()
    const kinds = ['DO_DB', 'IGNORE_DB', 'DO_TABLE', 'IGNORE_TABLE', 'WILD_DO_TABLE', 'WILD_IGNORE_TABLE', 'REWRITE_DB']
    await this.#sql.change(
      `CHANGE REPLICATION FILTER ${kinds.map((kind) => `REPLICATE_${kind} = ()`).join(', ')}`,
      stopMs,
    )
    if (applierRuns) await this.startApplier()
  }

  /**
   * Received, owned, executed, in this order: what moves on in between is seen twice rather than never.
   * @returns `partial`: received in part, and not among the others; `arriving`: what the receiver has begun with, also
   * where only the GTID came, which no worker owns then
   */
  async holds(): Promise<Record<'executed' | 'owned' | 'received' | 'partial' | 'arriving', GtidText>> {
    const [[channel], [row], [executedRow]] = await this.#sql.readAll(holdsStatements)
    const received = channel && gtidsOf(channel, 'received')
    const executed = gtidsOf(executedRow, 'executed')
    const owned = await judgeOwned(this.#sql, { printed: textOf(row, 'owned'), received, executed })
    const arriving = textOf(channel, 'arriving')
    return { executed, owned: owned.whole, received: received ?? '', partial: owned.partial, arriving }
  }

  async waitExecuted(set: GtidText, waitMs: number): Promise<boolean> {
    if (set === '') return true
    // Zero seconds would mean for ever.
    const seconds = Math.max(0.001, waitMs / 1_000)
    const [row] = await this.#sql.read(
      `SELECT WAIT_FOR_EXECUTED_GTID_SET(${literal(set)}, ${seconds}) AS late`,
      waitMs + stopMs,
    )
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

  /**
   * An applier that was just started has not shown yet that it can apply: one that an error stops in the middle of a
   * repointing would lose what it has. Rejects with that error.
   */
  async #appliesSome(backlog: GtidSet): Promise<boolean> {
    const error = textOf((await this.#read()).channel, 'Last_SQL_Error')
    if (error !== '')
      throw new RegentError(
        'REGENT_SERVER_ERROR',
        say`${counted(backlog.count(), 'received transaction')} cannot be applied, and repointing would throw them away: ${reported(error.slice(0, 300))}`,
      )
    return !(await this.#held()).executed.intersect(backlog).isEmpty()
  }

  async #held(): Promise<{ received: GtidSet; executed: GtidSet }> {
    const { received, executed } = await this.holds()
    return { received: parseGtidSet(received), executed: parseGtidSet(executed) }
  }

  #read(): ReturnType<typeof readChannel> {
    return readChannel(this.#sql)
  }

  async #onChannel(statement: string, deadlineMs: number): Promise<void> {
    try {
      await this.#sql.change(statement, deadlineMs)
    } catch (error) {
      if (!noChannel.has(errnoOf(error))) throw error
    }
  }
}

/**
 * The receiver retries for ever, or hears its source. A receiver that its source refused ends otherwise within
 * milliseconds of each attempt.
 */
function goesOnReceiving(channel: Row): boolean {
  const errno = numberOf(channel, 'Last_IO_Errno')
  const state = textOf(channel, 'Replica_IO_Running')
  return (state === 'Yes' && errno === 0) || (state === 'Connecting' && !ending.has(errno))
}
