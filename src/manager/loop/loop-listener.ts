import type { Action, Decision } from '#failover/protocol/decision.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { EndedRecovery } from './books/recovery-book.ts'
import type { OrderOutcome } from './order-desk.ts'

/** What the rest of the manager is told. */
export interface LoopListener {
  /** A decision was made on `input`; `changed` when its sentence differs from the last. */
  decided(decision: Decision, changed: boolean, input: DecisionInput): void
  acted(action: Action): void
  answered(outcome: OrderOutcome): void
  recovered(recovery: EndedRecovery): void
  /** A hook of this recovery ended, or is not begun any more. */
  hookEnded(run: HookRun, recovery: Recovery): void
  failed(what: string, error: unknown): void
  /** The lead is lost: whoever waits for what a leader does waits in vain. */
  ledNoMore(): void
}
