import { shippedOf, whyOtherHistory } from '#backup/archive/shipped.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Word } from '#failover/protocol/word.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { GtidMatcher } from '#agents/binlog/gtid-collector.ts'
import type { HoleClosingKnown } from '#agents/instance/known.ts'
import { learn } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { OpenedStore, StoresPort } from '#agents/ports/backup-port.ts'
import { requireAccess } from '../access.ts'
import { claimFolder } from '../owner.ts'
import { epochOf, PieceSender, type Went } from './piece-sender.ts'
import { readBelieved } from './read-believed.ts'
import { folderOf } from './shipping.ts'

type CloseWord = Word<'closeHole'>

/**
 * Ships what the archive lacks and the primary's binlogs do not hold any more, out of the binlogs of this replica. One
 * epoch has one history, and replicas preserve its order. Each piece is as the primary would have shipped that. A piece
 * that is shipped twice, or half, does no harm.
 */
export class HoleCloser {
  readonly #parts: Parts
  readonly #port: StoresPort | null
  readonly #stop = new AbortController()

  constructor(parts: Parts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  /** Begins to ship; the observation shows the course. Throws `REGENT_REFUSED`. */
  begin(said: CloseWord): void {
    const { jobs, config } = this.#parts
    if (jobs.closesHole?.stage === 'ships') return
    const port = requireAccess(this.#port, config.instance)
    if (epochOf(this.#parts) !== said.epoch)
      throw new RegentError('REGENT_REFUSED', say`${config.instance} does not act in epoch ${said.epoch}`)
    this.#tell(said, 'ships', '')
    void this.#run(said, port).catch((error: unknown) => this.#failed(said, error))
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  async #run(said: CloseWord, { open, lineage }: StoresPort): Promise<void> {
    const opened = await open(said.store)
    try {
      const folder = folderOf(this.#parts, said)
      await claimFolder(this.#parts, opened.store, { where: said.store, cluster: folder, lineage })
      const what = describeShipped(this.#parts.config.instance, await this.#ship(said, opened, lineage))
      this.#tell(said, 'done', String(what))
      this.#parts.notices.add('HoleClosed', what)
    } finally {
      opened.store.close()
    }
  }

  /**
   * Gives the transactions that this instance shipped. Transactions that others shipped meanwhile are not shipped
   * again.
   */
  async #ship(said: CloseWord, opened: OpenedStore, lineage: string): Promise<GtidSet> {
    const folder = folderOf(this.#parts, said)
    // A replica may lag, and its doubts prove nothing: only the primary tells of objects that are not believed.
    const { archive, believed, executed } = await readBelieved(this.#parts, { opened, folder, lineage })
    const why = whyOtherHistory(archive, said.epoch, executed)
    if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
    let lacking = parseGtidSet(said.gtids).subtract(shippedOf(believed)?.gtids ?? GtidSet.empty)
    let shipped = GtidSet.empty
    const { signal } = this.#stop
    const sender = new PieceSender(this.#parts, { folder, lineage, opened, epoch: said.epoch, signal })
    const isExecuted = new GtidMatcher(executed)
    let went: Went = 'on'
    while (went === 'on' && !lacking.subtract(sender.purged).isEmpty()) {
      const isLacking = new GtidMatcher(lacking)
      const toSend = {
        isExecuted: isExecuted.has.bind(isExecuted),
        isShipped: (transaction: Parameters<typeof isLacking.has>[0]) => !isLacking.has(transaction),
        isDone: (before: GtidSet) => before.subtract(sender.purged).intersect(lacking).isEmpty(),
      }
      went = await sender.send(toSend, (gtids) => {
        lacking = lacking.subtract(gtids)
        shipped = shipped.union(gtids)
      })
    }
    return shipped
  }

  #tell({ gtids }: CloseWord, stage: HoleClosingKnown['stage'], sentence: string): void {
    const atMs = this.#parts.world.clock.monotonicMs()
    learn(this.#parts, { fact: 'holeWent', closing: { stage, gtids, sentence, atMs } })
    this.#parts.changed()
  }

  #failed(said: CloseWord, error: unknown): void {
    this.#tell(said, 'failed', describeError(error).slice(0, 300))
    this.#parts.notices.failed('HoleNotClosed', say`what the archive lacks could not be shipped`, error)
  }
}

function describeShipped(instance: string, gtids: GtidSet): Sentence {
  return gtids.isEmpty()
    ? say`no binlog of ${instance} holds what the archive lacks, or that was shipped meanwhile`
    : say`${counted(gtids.count(), 'transaction')} that the archive lacked are shipped out of the binlogs of ${instance}`
}
