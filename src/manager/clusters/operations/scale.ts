import { say } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import { modeOf } from '#failover/decide.ts'
import { planScale } from '#failover/flows/scaling.ts'
import type { Performer } from './performer.ts'

/** Is done once it is begun; topology shows how far it is. */
export const scale: Performer<'scale'> = (asking, { instances }) => {
  const situation = asking.situation()
  const { loop, platform } = asking.cluster
  asking.mustNotBePaused(say`no scaling to ${instances}`)
  const planned = planScale(situation, instances, modeOf(situation.spec))
  if ('refusal' in planned) throw asking.refusal(say`no scaling to ${instances}: ${planned.refusal}`)
  const plan = [...planned.steps, ...protectionAfter(instances)]
  return {
    would: { sentence: `would scale to ${counted(instances, 'instance')}`, plan },
    act: async () => {
      if (platform.wish) await platform.wish(instances)
      else await loop.changeNotes((notes) => ({ ...notes, instances }))
      return { sentence: `scaling to ${counted(instances, 'instance')} has begun`, plan }
    },
  }
}

/** With nobody left to copy to, what is promised elsewhere ends; whoever asks for that hears it before. */
function protectionAfter(instances: number): readonly string[] {
  return instances === 1
    ? [
        'protection ends: one instance has nobody to fail over to, and its volume holds the only copy; "2" is the least that survives the loss of one',
      ]
    : []
}
