import { command, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { seedingsDue, type DueSeeding } from '../judge/seeding/seeding-plan.ts'
import { whyNoOrigin } from '../judge/seeding/seed-origin.ts'
import { liveView, type LiveView, type Situation } from '../judge/situation.ts'

/** What a copy over the data of an instance would do, why it is needless, or why it is refused. */
export type ReseedPlan =
  | { readonly sentence: Sentence; readonly steps: readonly Sentence[] }
  | { readonly needless: Sentence }
  | { readonly refusal: Sentence }

/** Only for an instance that would be seeded again if the policy were automatic: `regent replace` gives up others. */
export function planReseed(situation: Situation, instance: InstanceName): ReseedPlan {
  const { snapshot, record, notes } = situation
  if (notes.paused)
    return { refusal: say`the cluster is paused (${text(notes.paused.reason)}); ${command('resume')} first` }
  const primary = liveView(snapshot, record.primary)
  if (primary === undefined) return { refusal: say`the primary does not answer, and nobody is copied meanwhile` }
  const due = seedingsDue(situation, primary).find(({ view }) => view.name === instance)
  return due === undefined
    ? { refusal: say`${instance} gives no reason to replace its data: it is to follow as it is` }
    : planFor(situation, primary, due)
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
    steps: [
      say`transactions that ${name} alone has are archived`,
      say`all data of ${name} are replaced by a copy of ${from}`,
      say`${name} follows ${primary.name}, and counts once it has caught up`,
    ],
  }
}
