import type { Sentence } from '#common/sentence/sentence.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { DemoteOrder, ExpelOrder, PromiseOrder } from '#failover/protocol/order.ts'
import type { NextPass, View } from './pass.ts'
import type { Step } from './steps.ts'
import type { StoredState } from './stored-state.ts'

/** What an agent decides in one way of replicating. Pure. */
export interface Decider<S = Step> {
  /** Towards what is assigned, of a mysqld that runs. Nothing newer than the assignment was promised. */
  next(view: View, assignment: Assignment): NextPass<S>
  /** Whether the server was made ready for this assignment, so that the next pass needs no new look at the server. */
  isReadyFor(view: View, assignment: Assignment): boolean
  /**
   * Makes true what a promise newer than the assignment says: this server acknowledges and accepts no write, and
   * `course.promiseReport` says what is held. Null where that is so, or is not possible now. Asked in each pass: the
   * agent may have died in between.
   */
  underPromise(view: View): NextPass<S> | null
  /** While that promise is kept, and told: what another hand opens is closed again. */
  staysClosed(view: View): NextPass<S>
}

/**
 * What an agent does in one way of replicating. The converger makes one with `modeOf` (`agents/converge/mode-of.ts`).
 * Everybody else knows no mode by name. What returns a promise never runs beside another pass or order
 * (`Converger.alone`).
 */
export interface Mode<S = Step> extends Decider<S> {
  /** Begins to look at what no event brings. */
  start(watches: Watches): void
  /** Promises an epoch, on disk. What follows from that is `underPromise`. */
  promise(order: PromiseOrder): Promise<void>
  /** The one that will lead makes ready while others promise. Nothing of that binds anybody. Never rejects. */
  prepareToLead(): Promise<void>
  /** The first half of a switchover, at the primary. Undone where it fails before the promise, which is an error. */
  demote(order: DemoteOrder): Promise<void>
  /**
   * Has a replication group remove a member that nobody hears. Begins; the removal goes on in the background, and its
   * end is noticed. Throws `REGENT_ORDER_NOT_ALLOWED` where this agent hears that member, or is in no such group.
   */
  expel(order: ExpelOrder): void
  /** Another one leads: what this server does as primary of an earlier epoch ends. */
  stepDown(): Promise<void>
  /**
   * Why an instance that was told to end goes on for now; null where its server may go.
   * @param waitedMs since it was told
   */
  waitsToEnd(waitedMs: number): Sentence | null
  /** Why its data may not be given up now for a copy, by what its server does; null where they may. */
  whyNotSeeded(): Sentence | null
  /** Its server is killed at its end, since a stop in order would acknowledge what waits. */
  isKilledAtEnd(): boolean
  /** The last thing before its server is stopped in order: it receives nothing more. */
  leave(): Promise<void>
  /** What is stored of an instance together with its being primary. */
  marksOfPrimary(): Partial<StoredState>
}
