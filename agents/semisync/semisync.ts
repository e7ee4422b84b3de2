import type { Timer } from '../../src/common/ports/ports.ts'
import type { Assignment, DemoteOrder, PromiseOrder } from '../../failover/protocol/order.ts'
import type { ServerState } from '../../topology/snapshot/observation.ts'
import type { Mode } from '../instance/mode.ts'
import type { Parts, Pass } from '../instance/parts.ts'
import { demote } from './demotion.ts'
import { lockLookMs, LockWatch } from './lock-watch.ts'
import { Markers } from './marker.ts'
import { isPreparedFor, prepareToLead } from './preparation.ts'
import { convergePrimary } from './primary.ts'
import { promise } from './promise.ts'
import { convergeReplica, isPointed } from './replica.ts'
import { stopUnderPromise } from './under-promise.ts'

/** Replicas follow a primary by GTID. A write is acknowledged once k counted replicas have received it. */
export class Semisync implements Mode {
  readonly #parts: Parts
  readonly #markers: Markers
  readonly #locks: LockWatch
  #timer: Timer | null = null

  /** @param done a marker has ended */
  constructor(parts: Parts, done: () => void) {
    this.#parts = parts
    this.#markers = new Markers(parts, done)
    this.#locks = new LockWatch(parts)
  }

  start(): void {
    this.#timer = this.#parts.world.timers.every(lockLookMs, () => void this.#locks.look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  converge(assignment: Assignment, state: ServerState): Promise<Pass> {
    return assignment.role === 'primary'
      ? convergePrimary(this.#parts, assignment, state, this.#markers)
      : convergeReplica(this.#parts, assignment, state)
  }

  /**
   * A primary that was made ready is opened without another look: nobody has been let in since the last. A replica that
   * was made ready connects without one.
   */
  isReadyFor(assignment: Assignment): boolean {
    return assignment.role === 'primary'
      ? isPreparedFor(this.#parts, assignment.epoch)
      : isPointed(this.#parts, assignment)
  }

  promise(order: PromiseOrder): Promise<void> {
    return promise(this.#parts, order)
  }

  stopUnderPromise(): Promise<void> {
    return stopUnderPromise(this.#parts)
  }

  prepareToLead(): Promise<void> {
    return prepareToLead(this.#parts)
  }

  demote(order: DemoteOrder): Promise<void> {
    return demote(this.#parts, order)
  }
}
