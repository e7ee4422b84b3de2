import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Situation } from '../judge/situation.ts'
import type { Action } from '../protocol/decision.ts'
import type { PromiseOrder } from '../protocol/order.ts'
import { orderFor } from './assignments.ts'

/** A member is asked to promise an epoch. */
export function promiseAction(
  situation: Situation,
  member: MemberId,
  epoch: number,
  how: Partial<PromiseOrder> = {},
): Action {
  return {
    kind: 'promise',
    to: instanceOf(member),
    order: { ...orderFor(situation, member, epoch), after: '', waitMs: 0, ...how },
  }
}

/** Milliseconds a commit still waits for promises under way; null when there is nothing to wait for. */
export function stragglers({ inFlight, nowMs, timings }: Situation): number | null {
  const waits = [...inFlight.values()]
    .filter(({ order }) => order === 'promise')
    .map(({ sinceMs }) => sinceMs + timings.stragglerMs - nowMs)
  const longest = Math.max(0, ...waits)
  return longest > 0 ? longest : null
}
