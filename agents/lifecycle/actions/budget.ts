import type { Clock } from '#common/ports/ports.ts'
import { blockingLimitMs, nonBlockingLimitMs, type TimedAction, type TimedRequest } from './time-limit.ts'

/** How a caller waits for the end: with an open connection, or not at all. */
export type Waiting = 'blocking' | 'nonBlocking'

/** Time that a call has. */
export interface Budget {
  /** Milliseconds for the attempt that begins now, 0 where none can begin; null for no limit. */
  attemptMs(): number | null
  /** Whether any time is left after a pause. */
  hasTimeAfter(ms: number): boolean
}

/** A blocking call gives each attempt of each run a time of its own, a non-blocking call has one for all of them. */
export function budgetOf(
  {
    action,
    request,
    waiting,
  }: { readonly action: TimedAction; readonly request: TimedRequest; readonly waiting: Waiting },
  clock: Clock,
): Budget {
  const limitMs = waiting === 'blocking' ? blockingLimitMs(action, request) : nonBlockingLimitMs(action, request)
  if (waiting === 'blocking' || limitMs === null) return { attemptMs: () => limitMs, hasTimeAfter: () => true }
  const endMs = clock.monotonicMs() + limitMs
  const leftMs = (): number => Math.max(0, endMs - clock.monotonicMs())
  return { attemptMs: leftMs, hasTimeAfter: (ms) => leftMs() > ms }
}
