import { say } from '#common/sentence/sentence.ts'
import { modeOf } from '#failover/decide.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { answered, patienceMs, resultOf } from './answered.ts'
import type { Asking } from './asking.ts'
import type { Plan } from './performer.ts'

/** Without a record a person chooses who leads, and accepts what is lost by that. */
export function chooseLeader(asking: Asking, to: InstanceName | null): Plan {
  const { cluster, input } = asking
  const names = input.snapshot.instances.map(({ name }) => name).join(', ')
  if (to === null)
    throw asking.refusal(
      say`no failover: cluster ${input.cluster} has no record, so nobody can be elected; choose who leads with --to, one of ${names}`,
    )
  asking.mustExist(to)
  const plan = modeOf(input.spec).planForcedBootstrap(input, to)
  if ('refusal' in plan) throw asking.refusal(say`no failover: ${plan.refusal}`)
  return {
    would: {
      sentence: say`would make a record in which ${to} leads; given up: ${plan.givenUp}`,
      plan: [
        `${plan.asked.map(({ name }) => name).join(', ')} must promise a new epoch`,
        `${to} is committed as primary`,
        'it opens, the others follow; what only they hold is archived, and they are seeded again',
      ],
    },
    act: async () => {
      const asked = { kind: 'failover', id: cluster.world.random.hex(12), to, acceptLoss: true } as const
      const recovery = await answered(cluster, asked, patienceMs)
      const { record } = cluster.loop
      // Where the server of `to` is dead, or others are to be seeded first, another recovery follows.
      if (record !== undefined && instanceOf(record.primary) === to)
        return { sentence: say`${to} leads; given up: ${plan.givenUp}` }
      return resultOf(cluster, recovery, say`a forced choice of who leads`)
    },
  }
}
