import { say } from '#common/sentence/sentence.ts'
import { RegentError } from '#common/errors/errors.ts'
import { modeOf } from '#failover/decide.ts'
import { planReplace } from '#failover/flows/replace.ts'
import { viewNamed } from '#failover/judge/situation.ts'
import type { Performer } from './performer.ts'

/** Is done once its pod and volume are on their way out; topology shows how the new one is seeded. */
export const replace: Performer<'replace'> = (asking, { instance, acceptLoss }) => {
  const situation = asking.situation()
  asking.mustExist(instance)
  const { loop, platform } = asking.cluster
  const makeAnew = platform.replace?.bind(platform)
  if (makeAnew === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`no replacement of ${instance}: nothing where ${situation.cluster} runs can make a volume anew`,
    )
  const planned = planReplace(situation, instance, acceptLoss, modeOf(situation.spec))
  if ('refusal' in planned) throw asking.refusal(say`no replacement of ${instance}: ${planned.refusal}`)
  const { steps: plan, isSilent } = planned
  const loss = planned.loss === '' ? '' : say`; accepted: ${planned.loss}`
  return {
    would: { sentence: say`would give up ${instance} with its volume${loss}`, plan },
    act: async () => {
      const member = viewNamed(situation.snapshot, instance)?.observation?.member
      const takeBack = member && loop.giveUp(member)
      try {
        await makeAnew(instance, isSilent)
      } catch (error) {
        takeBack?.()
        throw error
      }
      return { sentence: say`${instance} is given up with its volume${loss}`, plan }
    },
  }
}
