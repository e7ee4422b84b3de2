import { tailChannel } from '#agents/ports/tail.ts'
import type { Clock } from '#common/ports/ports.ts'
import type { BinlogPlace, ChangedSetting, Channel } from '#topology/snapshot/observation.ts'
import type { Row } from '../connections/statements.ts'
import { gtidsOf, numberOf, textOf, type Sql } from '../connections/statements.ts'
import { changedOptionsIn, optionsStatement, reported } from './channel-options.ts'
import { ReadPlace } from './read-place.ts'

/**
 * The default channel as the server shows it; channels of other names are nobody's business here, and `forgetSource`
 * ends them.
 */
export interface ChannelStatus {
  readonly row: Row
  readonly received: string
  /** Milliseconds since the receiver last got anything; null while it is not connected. */
  readonly silentMs: number | null
  readonly lagSeconds: number | null
  readonly appliedUpToMs?: number
  readonly workerError: string
  /** Options that are otherwise than they are to be. */
  readonly changedOptions: readonly ChangedSetting[]
  /** The receiver has got something, or has never failed, since it connected last. */
  readonly proven: boolean
  readonly hasRead: BinlogPlace | null
}

const showReplica = 'SHOW REPLICA STATUS'

/**
 * When the newest transaction that the workers of a channel applied was committed at its source, in milliseconds; 0 and
 * NULL for none. They commit in the order of the source.
 */
export function appliedUpTo(channel: string): string {
  return `(SELECT ROUND(1000 * UNIX_TIMESTAMP(MAX(LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP)))
    FROM performance_schema.replication_applier_status_by_worker WHERE CHANNEL_NAME = ${channel})`
}

/** As a field of what is observed. */
export function appliedUpToIn(row: Row | undefined): { readonly appliedUpToMs?: number } {
  const appliedUpToMs = numberOf(row, 'appliedUpToMs')
  return appliedUpToMs > 0 ? { appliedUpToMs } : {}
}

/**
 * An error of a thread with its number, which tells one failure from another: the words of an event's failure have it,
 * those of a statement's have not.
 */
export const lastError =
  "IF(LOCATE('Error_code: ', LAST_ERROR_MESSAGE) > 0, LAST_ERROR_MESSAGE, CONCAT(LAST_ERROR_MESSAGE, ', Error_code: ', LAST_ERROR_NUMBER))"

/** The same of what SHOW REPLICA STATUS says. */
function withNumber(error: string, errno: number): string {
  return error === '' || errno === 0 || error.includes('Error_code: ') ? error : `${error}, Error_code: ${errno}`
}

/**
 * Microseconds of what performance_schema remembers; heartbeats and whole transactions have a time, single events have
 * none.
 */
const pulse = `SELECT s.COUNT_RECEIVED_HEARTBEATS AS heartbeats,
  TIMESTAMPDIFF(MICROSECOND, GREATEST(s.LAST_HEARTBEAT_TIMESTAMP, s.LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP,
    s.QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP), NOW(6)) AS silentMicros,
  (SELECT TIMESTAMPDIFF(MICROSECOND, MIN(w.APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP), NOW(6))
    FROM performance_schema.replication_applier_status_by_worker w
    WHERE w.CHANNEL_NAME = '' AND w.APPLYING_TRANSACTION <> '') AS lagMicros,
  ${appliedUpTo("''")} AS appliedUpToMs,
  (SELECT ${lastError} FROM performance_schema.replication_applier_status_by_worker w
    WHERE w.CHANNEL_NAME = '' AND w.LAST_ERROR_NUMBER <> 0 LIMIT 1) AS workerError,
  c.*, a.* FROM performance_schema.replication_connection_status s
  LEFT JOIN performance_schema.replication_connection_configuration c ON c.CHANNEL_NAME = s.CHANNEL_NAME
  LEFT JOIN performance_schema.replication_applier_configuration a ON a.CHANNEL_NAME = s.CHANNEL_NAME WHERE s.CHANNEL_NAME = ''`

/** What `ChannelPulse` is to be given the answers of. */
export const channelStatements = [showReplica, pulse] as const

/**
 * Understands what is said of the channel, and remembers when it last moved: the server gives no time to single events,
 * and a large transaction has many.
 */
export class ChannelPulse {
  readonly #clock: Clock
  readonly #encrypts: boolean
  readonly #readPlace = new ReadPlace()
  #position = ''
  #movedAtMs = 0
  /**
   * What it had got when it was first seen connected after it had stopped with an error, '' before; null where it has
   * not stopped so, or has got something since.
   */
  #doubt: string | null = null

  /** @param options `encrypts`: what is received comes over TLS, or not at all */
  constructor(clock: Clock, { encrypts }: { readonly encrypts: boolean }) {
    this.#clock = clock
    this.#encrypts = encrypts
  }

  forget(): void {
    this.#position = ''
  }

  /** Another server, or another channel. */
  forgetAll(): void {
    this.forget()
    this.#readPlace.forget()
    this.#doubt = null
  }

  /** Null without a channel. */
  from(rows: readonly Row[], [beat]: readonly Row[]): ChannelStatus | null {
    const row = channelRowIn(rows)
    if (row === undefined) {
      this.forgetAll()
      return null
    }
    const lagMicros = beat?.['lagMicros'] ?? null
    return {
      row,
      received: gtidsOf(row, 'Retrieved_Gtid_Set'),
      silentMs:
        textOf(row, 'Replica_IO_Running') === 'Yes'
          ? Math.min(this.#sinceMoved(row), microsToMs(numberOf(beat, 'silentMicros')))
          : this.#notConnected(),
      lagSeconds: lagMicros === null ? null : Math.max(0, Math.round(Number(lagMicros) / 100_000) / 10),
      ...appliedUpToIn(beat),
      workerError: textOf(beat, 'workerError'),
      changedOptions: reported(changedOptionsIn(beat, this.#encrypts)),
      proven: this.#isProven(row, beat),
      hasRead: this.#readPlace.from(row),
    }
  }

  /**
   * A receiver whose source refuses what it asks for (error 1236: purged) connects, is shown as running, and stops
   * within milliseconds, again and again. So one that has stopped with an error counts as connected only once anything
   * has come, a heartbeat at least. A receiver that was merely not let in yet, which goes on trying, is not doubted.
   */
  #isProven(row: Row, beat: Row | undefined): boolean {
    const running = textOf(row, 'Replica_IO_Running')
    if (running === 'No' && numberOf(row, 'Last_IO_Errno') !== 0) this.#doubt = ''
    if (running !== 'Yes' || this.#doubt === null) return this.#doubt === null
    const got = `${textOf(beat, 'heartbeats')} ${textOf(row, 'Retrieved_Gtid_Set')}`
    if (this.#doubt === '') this.#doubt = got
    else if (this.#doubt !== got) this.#doubt = null
    return this.#doubt === null
  }

  #notConnected(): null {
    this.forget()
    return null
  }

  /**
   * Milliseconds since the receiver's position was first seen where it is now. The first look after it connected counts
   * from now.
   */
  #sinceMoved(row: Row): number {
    const position = `${textOf(row, 'Source_UUID')} ${textOf(row, 'Source_Log_File')} ${textOf(row, 'Read_Source_Log_Pos')}`
    const nowMs = this.#clock.monotonicMs()
    if (position !== this.#position) this.#movedAtMs = nowMs
    this.#position = position
    return nowMs - this.#movedAtMs
  }
}

/**
 * The default channel's row of SHOW REPLICA STATUS, undefined where it has no source, its options, and whether there is
 * a channel by which a tail was applied.
 */
export async function readChannel({
  readAll,
}: Pick<Sql, 'readAll'>): Promise<{ channel: Row | undefined; options: Row | undefined; hasTail: boolean }> {
  const [rows, [options]] = await readAll([showReplica, optionsStatement])
  const hasTail = rows.some((row) => textOf(row, 'Channel_Name') === tailChannel)
  return { channel: channelRowIn(rows), options, hasTail }
}

function channelRowIn(rows: readonly Row[]): Row | undefined {
  return rows.find((row) => textOf(row, 'Channel_Name') === '' && textOf(row, 'Source_Host') !== '')
}

const filters = [
  'Replicate_Do_DB',
  'Replicate_Ignore_DB',
  'Replicate_Do_Table',
  'Replicate_Ignore_Table',
  'Replicate_Wild_Do_Table',
  'Replicate_Wild_Ignore_Table',
  'Replicate_Rewrite_DB',
  'Replicate_Ignore_Server_Ids',
] as const

export function channelFrom(
  { row, silentMs, lagSeconds, appliedUpToMs, workerError, changedOptions, proven, hasRead }: ChannelStatus,
  { semiSync, backlog }: { semiSync: boolean; backlog: number },
): Channel {
  const ioErrno = numberOf(row, 'Last_IO_Errno')
  return {
    sourceHost: textOf(row, 'Source_Host'),
    sourcePort: numberOf(row, 'Source_Port'),
    sourceUser: textOf(row, 'Source_User'),
    sourceUuid: textOf(row, 'Source_UUID'),
    ioRunning: ioStateOf(textOf(row, 'Replica_IO_Running'), proven),
    sqlRunning: textOf(row, 'Replica_SQL_Running') === 'Yes',
    ioError: textOf(row, 'Last_IO_Error'),
    ...(ioErrno === 0 ? {} : { ioErrno }),
    // The coordinator's own words only say that a worker has an error.
    sqlError: workerError || withNumber(textOf(row, 'Last_SQL_Error'), numberOf(row, 'Last_SQL_Errno')),
    backlogTransactions: backlog,
    lagSeconds: backlog === 0 ? null : lagSeconds,
    ...(appliedUpToMs === undefined ? {} : { appliedUpToMs }),
    semiSync,
    filtered: filters.some((name) => textOf(row, name) !== ''),
    silentMs,
    encrypted: textOf(row, 'Source_SSL_Allowed') === 'Yes',
    ...(changedOptions.length === 0 ? {} : { changedOptions }),
    hasRead,
  }
}

function ioStateOf(text: string, proven: boolean): Channel['ioRunning'] {
  if (text === 'Yes') return proven ? 'yes' : 'connecting'
  return text === 'Connecting' ? 'connecting' : 'no'
}

/** A receiver that has just connected has no time of its own yet: then the server's answer is the time since 1970. */
function microsToMs(micros: number): number {
  return Number.isFinite(micros) && micros >= 0 ? Math.round(micros / 1_000) : 0
}
