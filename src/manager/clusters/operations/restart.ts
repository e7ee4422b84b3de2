import { command, say } from '#common/sentence/sentence.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord } from '#failover/protocol/word.ts'
import { liveViews } from '#failover/judge/situation.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Performer } from './performer.ts'
import { handOver } from './switchover.ts'

/** For the answer of an agent, which begins at once. */
const deadlineMs = 5_000
/** To leave the sync set or the group. What takes longer comes to nothing, and the instance goes on. */
const withinMs = 30_000

/** Is done once the agent has begun: topology shows how that goes. A primary is moved first. */
export const restart: Performer<'restart'> = (asking, { instance, dryRun }) => {
  asking.mustExist(instance)
  asking.mustNotBePaused(say`no restart of ${instance}`)
  const { snapshot, record, cluster } = asking.situation()
  const view = liveViews(snapshot).find(({ name }) => name === instance)
  if (view === undefined) throw asking.refusal(say`no restart of ${instance}: its agent does not answer`)
  const { agent, observation } = view
  // Its agent refuses too, but only once another instance has taken over for nothing.
  if (observation.startsAgain === false)
    throw asking.refusal(
      say`no restart of ${instance}: Regent could stop mysqld at its host, and has no command that starts mysqld there`,
    )
  const isPrimary = instance === instanceOf(record.primary)
  const first = isPrimary ? handOver(asking, { from: instance, reason: `restart ${instance}`, dryRun }) : null
  const steps = [
    say`${instance} leaves those that count for an acknowledgement, or the group`,
    say`its mysqld stops in order, and starts again`,
  ]
  return {
    would: {
      sentence: say`would restart ${instance}`,
      plan: first === null ? steps : [say`another instance is made primary`, ...steps],
    },
    act: async () => {
      await first?.act()
      const said = { version: orderVersion, cluster, member: observation.member, withinMs }
      await sayWord({ transport: asking.cluster.transport, deadlineMs }, agent, 'restart', said)
      return { sentence: say`${instance} restarts; ${command('topology')} shows how that goes` }
    },
  }
}
