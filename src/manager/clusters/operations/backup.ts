import { backupName, secondOf } from '#backup/objects/backup-name.ts'
import { RegentError } from '#common/errors/errors.ts'
import { command, say } from '#common/sentence/sentence.ts'
import { planBackup, underWay } from '#failover/flows/backups/backing-up.ts'
import { liveViews } from '#failover/judge/situation.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord } from '#failover/protocol/word.ts'
import type { Performer } from './performer.ts'
import { storeIn } from './store-of-backups.ts'

/** An agent that hears it begins at once, and answers before it copies. */
const deadlineMs = 5_000

/** Is done once an agent has begun: how that goes shows in the views of its instance. */
export const backup: Performer<'backup'> = (asking, { instance: asked, name: wanted }) => {
  const situation = asking.situation()
  if (asked !== undefined) asking.mustExist(asked)
  const { snapshot, cluster, wallMs } = situation
  const store = storeIn(situation, say`backup`)
  const name = nameOf(wanted, wallMs)
  const busy = underWay(liveViews(snapshot))
  if (busy !== undefined && busy.name === wanted)
    return { needless: `${busy.instance} makes backup ${busy.name} already` }
  if (busy !== undefined) throw asking.refusal(say`no backup of ${cluster}: ${busy.instance} makes backup ${busy.name}`)
  const plan = planBackup(situation, asked)
  if ('refusal' in plan) throw asking.refusal(say`no backup of ${cluster}: ${plan.refusal}`)
  const { view, isPrimary, passedOver } = plan
  const { observation, agent, name: instance } = view
  const why = asked === undefined ? say`, since no replica can be copied: ${passedOver}` : ''
  const note = isPrimary ? say`; it is the primary${why}` : ''
  return {
    would: { sentence: say`would copy ${instance} into ${store.address}${note}`, backup: name, instance },
    act: async () => {
      const said = { version: orderVersion, cluster, member: observation.member, name, store }
      await sayWord({ transport: asking.cluster.transport, deadlineMs }, agent, 'backUp', said)
      return {
        sentence: say`${instance} makes backup ${name}${note}; ${command('topology')} shows how that goes`,
        backup: name,
        instance,
      }
    },
  }
}

function nameOf(wanted: string | undefined, wallMs: number): string {
  if (wanted === undefined) return backupName(wallMs)
  if (secondOf(wanted) !== null) return wanted
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`a backup cannot be named ${wanted}: that is no time such as 20261126T031209Z`,
  )
}
