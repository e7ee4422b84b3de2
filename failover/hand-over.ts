import { instanceOf } from '../topology/member.ts'
import { step, type FlowStep } from './crash-failover.ts'
import { liveView, type Situation } from './situation.ts'
import { beginSwitchover, planSwitchover } from './switchover.ts'

/**
 * A primary that was told to end hands over to one that stays: a drain, an eviction, a rolling update or a deletion
 * then costs a switchover instead of a failover.
 */
export function handOverStep(situation: Situation): FlowStep | undefined {
  const { record, spec, wallMs } = situation
  if (!isPrimaryEnding(situation)) return undefined
  const plan = planSwitchover(situation, null)
  if ('refusal' in plan) return undefined
  const primary = instanceOf(record.primary)
  const request = {
    request: `end-of-${primary}-${record.revision}`,
    deadlineWallMs: wallMs + spec.switchover.timeoutMs,
    reason: `${primary} is told to end`,
  }
  return { ...beginSwitchover(situation, plan.candidate, request), flow: 'switchover' }
}

/** Said when nothing else is to be done: the instance ends by itself after a while, and what follows is a failover. */
export function handOverWaits(situation: Situation): FlowStep | undefined {
  if (!isPrimaryEnding(situation)) return undefined
  const plan = planSwitchover(situation, null)
  return 'refusal' in plan
    ? step(`primary ${instanceOf(situation.record.primary)} is told to end and cannot hand over: ${plan.refusal}`, [], {
        blocked: true,
        revisitMs: 1_000,
      })
    : undefined
}

function isPrimaryEnding({ snapshot, record }: Situation): boolean {
  return liveView(snapshot, record.primary)?.observation.terminating === true
}
