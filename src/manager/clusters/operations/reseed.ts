import { say } from '#common/sentence/sentence.ts'
import { planReseed } from '#failover/flows/reseed.ts'
import { withConsent } from '#failover/judge/seeding/reseed-consent.ts'
import type { Performer } from './performer.ts'

/** Is done once the word is kept; topology shows how the copy goes. */
export const reseed: Performer<'reseed'> = (asking, { instance }) => {
  asking.mustExist(instance)
  const planned = planReseed(asking.situation(), instance)
  if ('refusal' in planned) throw asking.refusal(say`no copy for ${instance}: ${planned.refusal}`)
  if ('needless' in planned) return { needless: String(planned.needless) }
  const { sentence, steps: plan } = planned
  return {
    would: { sentence: say`would begin: ${sentence}`, plan },
    act: async () => {
      await asking.cluster.loop.changeNotes((notes) => withConsent(notes, instance, asking.input.wallMs))
      return { sentence, plan }
    },
  }
}
