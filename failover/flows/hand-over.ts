import { say } from '#common/sentence/sentence.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Switches } from './mode.ts'
import { ownSwitchover } from './own-switchover.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { liveView, switchoverAsked, type Situation } from '../judge/situation.ts'

/**
 * A primary that was told to end hands over to one that stays: a drain, an eviction, a rolling update or a deletion
 * then costs a switchover instead of a failover.
 */
export function handOverStep(situation: Situation, mode: Switches): FlowStep | undefined {
  const { record } = situation
  if (!isPrimaryEnding(situation)) return undefined
  const plan = mode.planSwitchover(situation, null)
  if ('refusal' in plan) return undefined
  const primary = instanceOf(record.primary)
  const why = { request: `end-of-${primary}-${record.revision}`, reason: `${primary} is told to end` }
  return { ...ownSwitchover(situation, mode, plan.candidate, why), flow: 'switchover' }
}

/** Said when nothing else is to be done: the instance ends by itself after a while, and what follows is a failover. */
export function handOverWaits(situation: Situation, mode: Switches): FlowStep | undefined {
  if (!isPrimaryEnding(situation)) return undefined
  const plan = mode.planSwitchover(situation, null)
  return 'refusal' in plan
    ? step(
        say`primary ${instanceOf(situation.record.primary)} is told to end and cannot hand over: ${plan.refusal}`,
        [],
        {
          blocked: true,
          revisitMs: 1_000,
        },
      )
    : undefined
}

function isPrimaryEnding({ snapshot, record }: Situation): boolean {
  return liveView(snapshot, record.primary)?.observation.terminating === true
}

/** A person's switchover, where it can begin now; it is done also while the cluster is paused. */
export function askedSwitchover(situation: Situation, mode: Switches): FlowStep | undefined {
  const request = switchoverAsked(situation)
  if (request === undefined) return undefined
  // Its time was looked at when it was taken; the primary's agent looks again, and says what it refuses.
  const plan = mode.planSwitchover(situation, request.to, Infinity)
  if ('refusal' in plan) return undefined
  const { id, deadlineWallMs, reason } = request
  const begun = mode.beginSwitchover(situation, plan.candidate, { request: id, deadlineWallMs, reason })
  return { ...begun, flow: 'switchover' }
}
