import { RegentError } from '#common/errors/errors.ts'
import { counted, say, text } from '#common/sentence/sentence.ts'
import type { Timers } from '#common/ports/ports.ts'
import { abbreviated } from '#common/text/words.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { AnsweredRow, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import type { RelayBatch } from './relay-batches.ts'

const lookMs = 250
/** The number of looks at an applier that has nothing to do while transactions lack. A look asks two threads. */
const idleLooks = 8
/** `ER_REPLICA_WORKER_STOPPED_PREVIOUS_THD_ERROR`: a worker that stopped because of another worker. */
const stoppedForAnother = 'a.LAST_ERROR_NUMBER = 3030'

export interface Applying {
  readonly server: Pick<ThrowAwayServer, 'query'>
  readonly timers: Pick<Timers, 'sleep'>
  /** Called with the transactions that the server has executed so far. */
  readonly progress: (executed: GtidSet) => void
}

/**
 * Has the server's own parallel applier execute the relay logs of a batch. Resolves when all are executed and the
 * channel is gone. Rejects with the applier's words, which name the transaction.
 */
export async function applyBatch(batch: RelayBatch, applying: Applying): Promise<void> {
  const { server } = applying
  const { channel, firstFile } = batch
  // Nobody connects anywhere: the receiver is never started.
  await server.query(
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'archive', SOURCE_USER = 'nobody', RELAY_LOG_FILE = '${firstFile}', RELAY_LOG_POS = 4 FOR CHANNEL '${channel}'`,
  )
  await start(batch, server)
  await untilExecuted(batch, applying)
  await server.query(`STOP REPLICA FOR CHANNEL '${channel}'`)
  await server.query(`RESET REPLICA ALL FOR CHANNEL '${channel}'`)
}

async function start({ channel }: RelayBatch, server: Applying['server']): Promise<void> {
  await server.query(`START REPLICA SQL_THREAD FOR CHANNEL '${channel}'`)
}

/**
 * An applier that fails is started again, since its threads get into each other's way: an XA COMMIT may not find what
 * was prepared a moment before (`XAER_NOTA`, seen with 9.7 without a binlog). An applier that fails twice in one place
 * cannot go on.
 */
async function untilExecuted(batch: RelayBatch, { server, timers, progress }: Applying): Promise<void> {
  let failedAt: GtidSet | null = null
  for (let idle = 0; idle < idleLooks;) {
    const seen = await look(batch.channel, server)
    progress(seen.executed)
    if (seen.executed.contains(batch.gtids)) return
    if (seen.error !== '') {
      if (failedAt?.equals(seen.executed) === true)
        throw new RegentError('REGENT_SERVER_ERROR', say`a transaction could not be replayed: ${text(seen.error)}`)
      failedAt = seen.executed
      await start(batch, server)
    }
    idle = seen.isIdle ? idle + 1 : 0
    await timers.sleep(lookMs)
  }
  const { executed } = await look(batch.channel, server)
  const left = batch.gtids.subtract(executed)
  if (left.isEmpty()) return
  throw new RegentError(
    'REGENT_SERVER_ERROR',
    say`the server has read all, and did not replay ${counted(left.count(), 'transaction')} (${text(abbreviated(left.toString()))})`,
  )
}

export async function executedBy(server: Applying['server']): Promise<GtidSet> {
  const [row] = await server.query('SELECT @@GLOBAL.gtid_executed AS executed')
  return GtidSet.parse(textIn(row, 'executed').replace(/\s+/g, ''))
}

interface Seen {
  readonly executed: GtidSet
  readonly error: string
  readonly isIdle: boolean
}

/** The order matters: the executed set is never older than the error or the idleness that was seen. */
async function look(channel: string, server: Applying['server']): Promise<Seen> {
  const ofChannel = `WHERE a.CHANNEL_NAME = '${channel}'`
  const [coordinator] = await server.query(
    `SELECT a.SERVICE_STATE AS state, a.LAST_ERROR_MESSAGE AS error, t.PROCESSLIST_STATE AS stage
       FROM performance_schema.replication_applier_status_by_coordinator a
       LEFT JOIN performance_schema.threads t ON t.THREAD_ID = a.THREAD_ID ${ofChannel}`,
  )
  const workers = await server.query(
    `SELECT a.APPLYING_TRANSACTION AS applying, a.LAST_ERROR_MESSAGE AS error
       FROM performance_schema.replication_applier_status_by_worker a ${ofChannel} ORDER BY ${stoppedForAnother}`,
  )
  const executed = await executedBy(server)
  const errors = [...workers, coordinator].map((row) => textIn(row, 'error')).filter((error) => error !== '')
  const isRunning = textIn(coordinator, 'state') === 'ON'
  return {
    executed,
    error: isRunning ? '' : (errors[0] ?? ''),
    isIdle: !isRunning || (/has read all relay log/i.test(textIn(coordinator, 'stage')) && workers.every(isFree)),
  }
}

function isFree(worker: AnsweredRow): boolean {
  return textIn(worker, 'applying') === ''
}

function textIn(row: AnsweredRow | undefined, name: string): string {
  const value = row?.[name]
  return typeof value === 'string' || Buffer.isBuffer(value) ? String(value) : ''
}
