import { command, say } from '#common/sentence/sentence.ts'
import { isFenced } from '#failover/judge/situation.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Performer } from './performer.ts'
import { handOver } from './switchover.ts'

/** A primary is moved first, unless the outage is wished for. */
export const fence: Performer<'fence'> = (asking, { instance, keepPrimary, dryRun }) => {
  const { notes, record } = asking.situation()
  asking.mustExist(instance)
  if (isFenced(notes, instance)) return { needless: `${instance} is fenced already` }
  const isAway = instance !== instanceOf(record.primary) || keepPrimary
  const first = isAway ? null : handOver(asking, { from: instance, reason: `fence ${instance}`, dryRun })
  const closed = `${instance} becomes read-only and offline`
  const outage = keepPrimary ? ': a deliberate outage, nothing fails over until unfence' : ''
  return {
    would: {
      sentence: `would fence ${instance}`,
      plan: first === null ? [`${closed}${outage}`] : ['switch over first', closed],
    },
    act: async () => {
      await first?.act()
      const { loop, world } = asking.cluster
      const wallMs = world.clock.wallMs()
      await loop.changeNotes((before) => ({
        ...before,
        fenced: [...before.fenced.filter((one) => one.instance !== instance), { instance, keepPrimary, wallMs }],
      }))
      return { sentence: say`${instance} is fenced until: ${command('unfence', instance)}` }
    },
  }
}

export const unfence: Performer<'unfence'> = (asking, { instance }) => {
  const { notes } = asking.situation()
  asking.mustExist(instance)
  if (!isFenced(notes, instance)) return { needless: `${instance} is not fenced` }
  return {
    would: { sentence: `would unfence ${instance}` },
    act: async () => {
      await asking.cluster.loop.changeNotes((before) => ({
        ...before,
        fenced: before.fenced.filter((one) => one.instance !== instance),
      }))
      return { sentence: `${instance} is no longer fenced` }
    },
  }
}
