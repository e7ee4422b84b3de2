import { command, say, text, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { seedingsDue, whyNotAsItIs, type DueSeeding } from '../judge/seeding/seeding-plan.ts'
import { whyNoOrigin } from '../judge/seeding/seed-origin.ts'
import { endOfPause } from './resuming.ts'
import { liveView, wantedInstances, type LiveView, type Situation } from '../judge/situation.ts'

/** What a copy over the data of an instance would do, why it is needless, or why it is refused. */
export type ReseedPlan =
  | { readonly sentence: Sentence; readonly steps: readonly Sentence[] }
  | { readonly needless: Sentence }
  | { readonly refusal: Sentence }

/** Only for an instance that would be seeded again if the policy were automatic: `regent replace` gives up others. */
export function planReseed(situation: Situation, instance: InstanceName): ReseedPlan {
  const { snapshot, record, notes, cluster } = situation
  if (notes.paused)
    return {
      refusal: say`the cluster is paused (${text(notes.paused.reason)}); ${endOfPause(notes.paused, cluster)} first`,
    }
  const primary = liveView(snapshot, record.primary)
  if (primary === undefined) return { refusal: say`the primary does not answer, and nobody is copied meanwhile` }
  const due = seedingsDue(situation, primary).find(({ view }) => view.name === instance)
  if (due !== undefined) return planFor(situation, primary, due)
  return planToLeave(situation, primary, instance) ?? { refusal: whyNot(situation, primary, instance) }
}

/**
 * A member of a group that was open for writes leaves the group first, by the policy or by the word of a person
 * (`failover/group/admission.ts`).
 */
function planToLeave(situation: Situation, primary: LiveView, instance: InstanceName): ReseedPlan | undefined {
  const { record, snapshot, spec } = situation
  const member = record.syncSet.find((one) => instanceOf(one) === instance)
  const view = member === undefined ? undefined : liveView(snapshot, member)
  if (record.group === undefined || view?.observation.stored.opened !== true) return undefined
  const why = whyNotAsItIs(situation, view, primary)
  if (why === null) return undefined
  const leaves = say`${instance} leaves the group, once each instance is a member`
  if (spec.reseed === 'automatic')
    return { needless: say`${instance} ${why}: it is seeded again without being asked; ${leaves}` }
  return {
    sentence: say`${instance} ${why}: its data become a copy of another member`,
    steps: [leaves, ...stepsOfCopy(instance, primary, say`another member`)],
  }
}

/** What is in the sync set is given up by nobody, whatever is wrong with it. */
function whyNot(situation: Situation, primary: LiveView, instance: InstanceName): Sentence {
  const { record, snapshot, cluster } = situation
  const member = record.syncSet.find((one) => instanceOf(one) === instance)
  const view = member === undefined ? undefined : liveView(snapshot, member)
  const why = view === undefined ? null : whyNotAsItIs(situation, view, primary)
  if (why === null) return say`${instance} gives no reason to replace its data: it is to follow as it is`
  const more = command('scale', cluster, String(wantedInstances(situation) + 1))
  return say`${instance} ${why}, and is in the sync set: only what has left that is seeded again. Where too few others can acknowledge, add a replica: ${more}`
}

function planFor(situation: Situation, primary: LiveView, { view, why, donor, backup }: DueSeeding): ReseedPlan {
  const { name, observation } = view
  if (situation.spec.reseed === 'automatic' || observation.stored.seeding)
    return { needless: say`${name} ${why}: it is seeded again without being asked` }
  const from = backup === null ? donor?.view.name : say`backup ${backup.name}`
  if (from === undefined)
    return { refusal: say`${name} ${why}, but there is nothing to copy: ${whyNoOrigin(situation, view, primary)}` }
  return {
    sentence: say`${name} ${why}: its data become a copy of ${from}`,
    steps: stepsOfCopy(name, primary, from),
  }
}

function stepsOfCopy(name: InstanceName, primary: LiveView, from: Sayable): readonly Sentence[] {
  return [
    say`transactions that ${name} alone has are archived`,
    say`all data of ${name} are replaced by a copy of ${from}`,
    say`${name} follows ${primary.name}, and counts once it has caught up`,
  ]
}
