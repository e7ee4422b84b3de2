import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import { instanceOf, ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import { instancesIn, recordedMembers } from '../protocol/record.ts'
import { whyTooMany } from '../protocol/spec.ts'
import type { Switches } from './mode.ts'
import { ownSwitchover } from './own-switchover.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { leavers, viewNamed, wantedInstances, type Situation } from '../judge/situation.ts'

/**
 * The next step towards the number of instances asked for. Scale-in: the primary moves to one that stays, leavers leave
 * the sync set (`sync-set.ts` sees to that), and only then the platform takes them away.
 */
export function scalingStep(situation: Situation, mode: Switches): FlowStep | undefined {
  const { record, snapshot } = situation
  const wanted = wantedInstances(situation)
  if (snapshot.instances.length < wanted) {
    // A manager may see too few instances, since a set was deleted or lost its label. Scaling out never takes away an
    // instance that still has to leave.
    const count = Math.max(wanted, instancesIn(record))
    return step(say`scaling out from ${snapshot.instances.length} to ${counted(count, 'instance')}`, [
      { kind: 'scale', count },
    ])
  }
  const going = leavers(situation)
  if (going.length === 0) return undefined
  const primary = instanceOf(record.primary)
  if (going.includes(primary)) {
    const plan = mode.planSwitchover(situation, null)
    if ('refusal' in plan)
      return step(say`scale-in to ${wanted} waits: ${primary} is primary and ${plan.refusal}`, [], {
        blocked: true,
        revisitMs: 1_000,
      })
    return ownSwitchover(situation, mode, plan.candidate, {
      request: `scale-in-${wanted}-${record.revision}`,
      reason: `scale-in to ${wanted}: ${primary} is to go`,
    })
  }
  const still = record.syncSet.map(instanceOf).filter((name) => going.includes(name))
  if (still.length > 0)
    return step(say`scale-in to ${wanted}: ${allOf(still)} must leave the sync set first`, [], { revisitMs: 500 })
  return step(say`scale-in to ${wanted}: ${allOf(going)} ${going.length === 1 ? say`goes` : say`go`}`, [
    { kind: 'scale', count: wanted },
  ])
}

/**
 * A step that is taken while nobody leads. An instance that the record names may hold what was acknowledged last. Where
 * that instance is wanted and not there it is made again, on the volume that was kept: a scale-in that somebody took
 * back may have taken it away a moment later.
 */
export function withMissingMadeAgain(situation: Situation, flow: FlowStep): FlowStep {
  const { record, snapshot, notes } = situation
  const wanted = wantedInstances(situation)
  const missing = recordedMembers(record)
    .map(instanceOf)
    .filter((name) => ordinalOf(name) < wanted && viewNamed(snapshot, name) === undefined)
  if (missing.length === 0 || notes.paused !== null) return flow
  const what = say`${allOf(missing)} ${missing.length === 1 ? say`is not there and is` : say`are not there and are`} made again`
  return {
    ...flow,
    sentence: say`${flow.sentence}; ${what}`,
    actions: [...flow.actions, { kind: 'scale', count: Math.max(wanted, instancesIn(record)) }],
  }
}

/** What a scale request would do, or why it is refused; for dry runs and the API. */
export function planScale(
  situation: Situation,
  count: number,
  mode: Switches,
): { readonly steps: readonly Sentence[] } | { readonly refusal: Sentence } {
  const now = wantedInstances(situation)
  const tooMany = whyTooMany(situation.spec, count)
  if (tooMany !== undefined) return { refusal: say`${text(tooMany)}` }
  if (count === now)
    return { steps: [say`there ${now === 1 ? say`is` : say`are`} ${counted(now, 'instance')} already`] }
  if (count > now)
    return {
      steps: [
        say`add ${nameRange(situation, now, count)}`,
        say`seed them from the healthiest replica`,
        say`let them into the sync set when they have caught up`,
      ],
    }
  const scaled: Situation = { ...situation, notes: { ...situation.notes, instances: count } }
  const primary = instanceOf(situation.record.primary)
  const moves = leavers(scaled).includes(primary)
  const plan = moves ? mode.planSwitchover(scaled, null) : undefined
  if (plan && 'refusal' in plan)
    return { refusal: say`${primary} is primary and would have to go, but ${plan.refusal}` }
  const lead = plan ? [say`switch over from ${primary} to ${instanceOf(plan.candidate)}`] : []
  return {
    steps: [
      ...lead,
      say`${allOf(leavers(scaled))} ${leavers(scaled).length === 1 ? say`leaves` : say`leave`} the sync set`,
      say`then what leaves is taken away; its volume is kept`,
    ],
  }
}

function nameRange(situation: Situation, from: number, to: number): string {
  const names: InstanceName[] = []
  for (let ordinal = from; ordinal < to; ordinal += 1) names.push(`${situation.cluster}-${ordinal}`)
  return allOf(names)
}
