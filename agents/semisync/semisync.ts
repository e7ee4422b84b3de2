import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Watches } from '#common/watch/watches.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { DemoteOrder, ExpelOrder, PromiseOrder } from '#failover/protocol/order.ts'
import type { Mode } from '../instance/agent-mode.ts'
import type { View } from '../instance/pass.ts'
import type { AnswersAlone, Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { demote } from './demotion.ts'
import { waitsToEnd } from './end.ts'
import { lockLookMs, LockWatch } from '../guard/lock-watch.ts'
import { SemisyncLockNeeds } from './lock-needs.ts'
import { isPreparedFor, prepareToLead } from './preparation.ts'
import { nextAsPrimary } from './primary.ts'
import { promise } from './promise.ts'
import { isPointed } from './connecting.ts'
import { nextAsReplica } from './replica.ts'
import { stepDown } from './stepping-down.ts'
import type { NextPass, Step } from './steps.ts'
import { staysClosed, underPromise } from './under-promise.ts'

/** Replicas follow a primary by GTID. A write is acknowledged once k counted replicas have received it. */
export class Semisync implements Mode<Step> {
  static readonly answersAlone: AnswersAlone = ({ assignment }) => assignment?.role === 'primary'
  readonly #parts: Parts
  readonly #locks: LockWatch

  constructor(parts: Parts) {
    this.#parts = parts
    this.#locks = new LockWatch(parts, new SemisyncLockNeeds(parts))
  }

  start(watches: Watches): void {
    watches.every(lockLookMs, [this.#locks])
  }

  next(view: View, assignment: Assignment): NextPass {
    const { server: state } = view
    if (state === null) return { next: 'after a look' }
    return assignment.role === 'primary'
      ? nextAsPrimary(view, { assignment, state })
      : nextAsReplica(view, assignment, state)
  }

  /**
   * A primary that was made ready is opened without another look: nobody has been let in since the last. A replica that
   * was made ready connects without one; but where the last look shows it open, that was the moment in which its agent
   * changed accounts, perhaps.
   */
  isReadyFor(view: View, assignment: Assignment): boolean {
    if (assignment.role === 'primary') return isPreparedFor(view, assignment.epoch)
    return view.server?.superReadOnly === true && isPointed(view, assignment)
  }

  underPromise(view: View): NextPass | null {
    return underPromise(view)
  }

  staysClosed(view: View): NextPass {
    return staysClosed(view)
  }

  promise(order: PromiseOrder): Promise<void> {
    return promise(this.#parts, order)
  }

  prepareToLead(): Promise<void> {
    return prepareToLead(this.#parts)
  }

  demote(order: DemoteOrder): Promise<void> {
    return demote(this.#parts, order)
  }

  expel({ silent }: ExpelOrder): void {
    throw new RegentError(
      'REGENT_ORDER_NOT_ALLOWED',
      say`${silent.instance} is not removed from a group: this instance is in none`,
    )
  }

  stepDown(): Promise<void> {
    return stepDown(this.#parts)
  }

  waitsToEnd(waitedMs: number): Sentence | null {
    return waitsToEnd(this.#parts, waitedMs)
  }

  whyNotSeeded(): Sentence | null {
    return null
  }

  isKilledAtEnd(): boolean {
    return this.#parts.file.current.assignment?.role === 'primary'
  }

  leave(): Promise<void> {
    return this.#parts.server.stopReceiver()
  }

  marksOfPrimary(): Partial<StoredState> {
    const { doubts, file } = this.#parts
    // A primary that forgot something was promoted by a person who accepted that.
    const goesOn = file.current.assignment?.role === 'primary'
    return {
      ...{ mayHaveTail: true, fromThePast: false, gtidsReset: doubts.gtidsReset, opened: false, filterSeen: false },
      binlogOff: doubts.gtidsReset && file.current.binlogOff,
      gtidsGiven: doubts.gtidsReset && file.current.gtidsGiven,
      // What a primary begins by the names of others is harmless, also once it is a replica.
      binlogJudged: null,
      forgetful: goesOn && file.current.forgetful,
    }
  }
}
