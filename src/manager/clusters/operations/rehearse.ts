import { backupName } from '#backup/objects/backup-name.ts'
import { command, say } from '#common/sentence/sentence.ts'
import { planRehearsal, rehearsalUnderWay } from '#failover/flows/backups/rehearsing.ts'
import { liveViews } from '#failover/judge/situation.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord } from '#failover/protocol/word.ts'
import type { Performer } from './performer.ts'
import { storeIn } from './store-of-backups.ts'

/** An agent that hears it begins at once, and answers before it restores. */
const deadlineMs = 5_000

/** Is done once an agent has begun: how that goes shows in the views of its instance. */
export const rehearse: Performer<'rehearse'> = (asking, { instance: asked }) => {
  const situation = asking.situation()
  if (asked !== undefined) asking.mustExist(asked)
  const { snapshot, cluster, wallMs } = situation
  const store = storeIn(situation, say`rehearsal`)
  const busy = rehearsalUnderWay(liveViews(snapshot))
  if (busy !== undefined)
    throw asking.refusal(say`no rehearsal of ${cluster}: ${busy.instance} has rehearsal ${busy.name} under way`)
  const plan = planRehearsal(situation, asked)
  if ('refusal' in plan) throw asking.refusal(say`no rehearsal of ${cluster}: ${plan.refusal}`)
  const { view, isPrimary, passedOver } = plan
  const { observation, agent, name: instance } = view
  const why = asked === undefined ? say`, since no replica can: ${passedOver}` : ''
  const note = isPrimary ? say`; it is the primary${why}` : ''
  return {
    would: { sentence: say`would restore the newest backup beside ${instance}, and remove that again${note}` },
    act: async () => {
      const name = backupName(wallMs)
      const said = { version: orderVersion, cluster, member: observation.member, name, store }
      await sayWord({ transport: asking.cluster.transport, deadlineMs }, agent, 'rehearse', said)
      return {
        sentence: say`${instance} rehearses a restore (${name})${note}; ${command('topology')} shows how that goes`,
        rehearsal: name,
        instance,
      }
    },
  }
}
