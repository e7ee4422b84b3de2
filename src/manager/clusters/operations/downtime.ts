import { command, say } from '#common/sentence/sentence.ts'
import { describeDowntime, downtimeOf, withDowntime, withoutDowntime } from '#failover/judge/downtime.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Performer } from './performer.ts'

export const downtime: Performer<'downtime'> = (asking, { instance, forMs, reason, owner }) => {
  const { record, wallMs } = asking.input
  asking.mustExist(instance)
  const begun = { instance, untilWallMs: wallMs + forMs, reason, owner }
  const leads = record !== undefined && instanceOf(record.primary) === instance
  const note = leads
    ? say`; it is the primary: if it fails, another one takes over as ever. Without an interruption: ${command('switchover')}`
    : ''
  const rest = say`in ${describeDowntime(begun)}${note}`
  return {
    would: { sentence: say`${instance} would be ${rest}` },
    act: async () => {
      await asking.cluster.loop.changeNotes((notes) => withDowntime(notes, begun, wallMs))
      return { sentence: say`${instance} is ${rest}` }
    },
  }
}

export const endDowntime: Performer<'end-downtime'> = (asking, { instance }) => {
  const { input, cluster } = asking
  const present = downtimeOf(input, instance)
  if (present === undefined) {
    // An instance that was scaled away may have left a downtime behind.
    asking.mustExist(instance)
    return { needless: `${instance} is not in downtime` }
  }
  return {
    would: { sentence: say`would end the ${describeDowntime(present)}` },
    act: async () => {
      await cluster.loop.changeNotes((notes) => withoutDowntime(notes, instance, input.wallMs))
      return { sentence: `${instance} is no longer in downtime` }
    },
  }
}
