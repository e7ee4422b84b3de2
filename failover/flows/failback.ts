import { say } from '#common/sentence/sentence.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { comparePolicy } from '../judge/election/election.ts'
import { downtimeOf } from '../judge/downtime.ts'
import { liveViews, type Situation } from '../judge/situation.ts'
import type { FlowStep } from '../steps/step.ts'
import type { Switches } from './mode.ts'
import { ownSwitchover } from './own-switchover.ts'

/**
 * A switchover back to an instance that the policies prefer to the primary: once nothing has had to be recovered, and
 * its mysqld has run, for `failover.backAfterSeconds`. A switchover that was undone is a recovery too, and so is not
 * tried again at once. Undefined where nobody is preferred, or nobody asked for this.
 */
export function failbackStep(situation: Situation, mode: Switches): FlowStep | undefined {
  const { record, spec } = situation
  const afterMs = 1_000 * (spec.failover.backAfterSeconds ?? 0)
  if (afterMs === 0) return undefined
  const primary = instanceOf(record.primary)
  const name = mostPreferred(situation, primary)
  if (name === primary || wellForMs(situation, name) < afterMs) return undefined
  const plan = mode.planSwitchover(situation, name)
  if ('refusal' in plan) return undefined
  const why = {
    request: `back-to-${name}-${record.revision}`,
    reason: String(say`${name} is preferred to ${primary}, and well again`),
  }
  return { ...ownSwitchover(situation, mode, plan.candidate, why), flow: 'switchover' }
}

/** Another instance than the primary only where the policies put that instance before all others. */
function mostPreferred(situation: Situation, primary: InstanceName): InstanceName {
  const { snapshot, spec } = situation
  const names = snapshot.instances.map(({ name }) => name).filter((name) => spec.policies[name]?.promotion !== 'never')
  return names.reduce((best, name) => (comparePolicy(situation, name, best) < 0 ? name : best), primary)
}

/** 0 in a downtime, and while anything is being recovered. A clock that was set back begins the time anew. */
function wellForMs(situation: Situation, name: InstanceName): number {
  const { snapshot, notes, wallMs } = situation
  const seen = liveViews(snapshot).find((view) => view.name === name)?.observation
  if (seen?.process !== 'running' || downtimeOf(situation, name) !== undefined) return 0
  if (notes.recoveries.some(({ outcome }) => outcome === 'running')) return 0
  const ended = notes.recoveries.map(({ startedWallMs, timeline }) => startedWallMs + (timeline.at(-1)?.atMs ?? 0))
  return Math.min(seen.processSinceMs, ...ended.map((endedWallMs) => Math.max(0, wallMs - endedWallMs)))
}
