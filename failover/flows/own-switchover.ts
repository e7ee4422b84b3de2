import type { MemberId } from '#topology/snapshot/member.ts'
import type { Situation } from '../judge/situation.ts'
import type { SwitchoverIntent } from '../protocol/record.ts'
import type { FlowStep } from '../steps/step.ts'
import type { Switches } from './mode.ts'

/** A switchover that nobody asked for: within the time of the spec. */
export function ownSwitchover(
  situation: Situation,
  mode: Switches,
  candidate: MemberId,
  why: Pick<SwitchoverIntent, 'request' | 'reason'>,
): FlowStep {
  const deadlineWallMs = situation.steadyWallMs + situation.spec.switchover.timeoutMs
  return mode.beginSwitchover(situation, candidate, { ...why, deadlineWallMs })
}
