import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { isBefore } from '#topology/snapshot/holes.ts'
import type { BinlogPlace, ServerState } from '#topology/snapshot/observation.ts'
import { learn, type Learner } from '../instance/learn.ts'
import { lifeOf } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'
import type { JudgedBinlog } from '../instance/stored-state.ts'

type GivenParts = Learner &
  Pick<Parts, 'changed' | 'config' | 'file' | 'notices' | 'observer' | 'process' | 'volume' | 'wake' | 'world'>

const beginning: BinlogPlace = { file: 0, position: 0 }
/** After a start so much is read again at most. */
const storedEveryBytes = 268_435_456

/**
 * A hand that skips a transaction at a replica (`SET gtid_next = '…'; BEGIN; COMMIT`) gives the replica a GTID without
 * the data. No set of GTIDs differs: the replica would count, acknowledge what it does not have, and be elected. So
 * what is new in the binlogs of a replica is read each second, and one that began a transaction by the name of another
 * server is seeded again.
 *
 * A primary may do that: Regent itself does (`orders/emptying.ts`). So a replica's binlogs are read from where they
 * ended once it was closed and made to follow, and that place is forgotten when it becomes primary. The place is on
 * disk: what began while no agent ran is found as well. A group certifies and counts what its members begin.
 */
export class GivenGtidsWatch implements Watch {
  readonly name = 'transactions begun at a replica'
  readonly failure = { code: 'BegunNotRead', sentence: say`the binlogs do not tell what began here` }
  readonly #parts: GivenParts
  /** How far was read since that was stored last. */
  #read: { readonly since: JudgedBinlog; readonly end: BinlogPlace } | null = null

  constructor(parts: GivenParts) {
    this.#parts = parts
  }

  while(): boolean {
    const { config, doubts, file, process } = this.#parts
    if (config.mode === 'group' || config.far !== undefined) return false
    if (!this.#isReplica()) return file.current.binlogJudged !== null
    return process.state === 'running' && !doubts.gtidsReset && !file.current.gtidsReset
  }

  async look(): Promise<void> {
    const { file, observer } = this.#parts
    const { server } = observer
    const since = file.current.binlogJudged
    // Perhaps written behind what a primary stores at first.
    if (!this.#isReplica()) return void (await file.update({ binlogJudged: null }))
    if (server === null || !observer.isFresh || server.binlogNumber === 0) return
    await (since?.uuid === server.uuid ? this.#judge(server, since) : this.#begin(server))
  }

  async #judge(server: ServerState, since: JudgedBinlog): Promise<void> {
    const { file, volume } = this.#parts
    const from = this.#read?.since === since ? this.#read.end : { file: since.file, position: since.position }
    const to = endOf(server)
    if (isSame(from, to)) return
    // Names of binlogs begin anew with a reset.
    const part = { uuid: server.uuid, from: isBefore(to, from) ? beginning : from, to }
    const { gtids, end } = await volume.begunUnderOthers(part)
    // Made primary meanwhile, or another server.
    if (file.current.binlogJudged !== since) return
    if (gtids !== '') await this.#doubt(gtids)
    await this.#goOn(since, end)
  }

  #isReplica(): boolean {
    return this.#parts.file.current.assignment?.role === 'replica'
  }

  /** What was written before it was closed and made to follow is left out. */
  async #begin(server: ServerState): Promise<void> {
    const { file, observer, world } = this.#parts
    const { lookAgeMs } = observer
    const { stage } = lifeOf(this.#parts)
    if (stage.is !== 'following' || !server.superReadOnly) return
    if (world.clock.monotonicMs() - lookAgeMs < stage.sinceMs) return
    await file.update({ binlogJudged: { uuid: server.uuid, ...endOf(server) } })
  }

  /** On disk once in a while: after a start so much may be read again. */
  async #goOn(since: JudgedBinlog, end: BinlogPlace): Promise<void> {
    const { file } = this.#parts
    this.#read = { since, end }
    const further = end.file === since.file ? end.position - since.position : -1
    if ((further < 0 || further >= storedEveryBytes) && file.current.binlogJudged === since)
      await file.update({ binlogJudged: { uuid: since.uuid, ...end } })
  }

  async #doubt(gtids: GtidText): Promise<void> {
    const { changed, file, notices, wake } = this.#parts
    learn(this.#parts, { fact: 'gtidsReset' })
    notices.add('GtidsReset', telling(gtids))
    changed()
    await file.update({ gtidsReset: true, gtidsGiven: true })
    wake()
  }
}

function telling(gtids: GtidText): Sentence {
  const began = counted(parseGtidSet(gtids).count(), 'transaction')
  const how = say`SET gtid_next by another hand: ${text(gtids.slice(0, 120))}`
  return say`${began} began here by the name of another server (${how}), without the data of that name: it stops replicating and is seeded again`
}

function endOf({ binlogNumber, binlogPosition = 0 }: ServerState): BinlogPlace {
  return { file: binlogNumber, position: binlogPosition }
}

function isSame(one: BinlogPlace, other: BinlogPlace): boolean {
  return one.file === other.file && one.position === other.position
}
