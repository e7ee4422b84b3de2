import type { Assignment, DemoteOrder, PromiseOrder } from '../../failover/protocol/order.ts'
import type { ServerState } from '../../topology/snapshot/observation.ts'
import type { Pass } from './parts.ts'

/**
 * What an agent does in one way of replicating. The converger makes one with `modeOf` (`agents/converge/mode-of.ts`).
 * Everybody else knows no mode by name. What returns a promise never runs beside another pass or order
 * (`Converger.alone`).
 */
export interface Mode {
  /** Begins and ends what no event brings. */
  start(): void
  stop(): void
  /** One pass towards what is assigned, of a mysqld that runs. Nothing newer than the assignment was promised. */
  converge(assignment: Assignment, state: ServerState): Promise<Pass>
  /** Whether the server was made ready for this assignment, so that the next pass needs no new look at the server. */
  isReadyFor(assignment: Assignment): boolean
  /** Promises an epoch: on disk first, then `stopUnderPromise`. */
  promise(order: PromiseOrder): Promise<void>
  /**
   * Makes true what a promise newer than the assignment says: this server acknowledges and accepts no write, and
   * `course.promiseReport` says what is held. Called again in each pass: the agent may have died in between.
   */
  stopUnderPromise(): Promise<void>
  /** The one that will lead makes ready while others promise. Nothing of that binds anybody. Never rejects. */
  prepareToLead(): Promise<void>
  /** The first half of a switchover, at the primary. Undone where it fails before the promise, which is an error. */
  demote(order: DemoteOrder): Promise<void>
}
