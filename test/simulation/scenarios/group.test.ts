import { expect, it } from 'vitest'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { Scenario } from '../scenario.ts'

const namesOf = (record: ClusterRecord | undefined) =>
  record === undefined ? [] : [record.primary, ...record.syncSet].map(instanceOf)

it('A group is formed once, everybody joins, and writes are on every instance', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
  expect(scenario.cluster.groups?.ledgers).toHaveLength(1)
  for (let write = 0; write < 5; write += 1) await scenario.writeAcknowledged()
  await scenario.heal()
})

it('A group that another hand forms of one member counts for nothing, also where the primary dies beside that', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
  const { cluster, primary } = scenario
  const fork = cluster.machine(scenario.syncSet[0]!)
  fork.agentLife?.freeze()
  void cluster.groups?.pluginOf(fork.mysqld)?.formByHand()
  await scenario.until('there are two groups', () => cluster.groups?.ledgers.length === 2)
  for (let write = 0; write < 5; write += 1) await scenario.writeAcknowledged()
  cluster.killAgent(primary)
  primary.mysqld?.die()
  fork.agentLife?.thaw()
  await scenario.goOn(10_000)
  expect(scenario.primary).toBe(primary)
  cluster.startAgent(primary)
  await scenario.heal()
  expect(scenario.primary).not.toBe(fork)
})

it('A group that another hand forms of one member is left by that member while the others go on', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
  const { cluster } = scenario
  const fork = cluster.machine(scenario.syncSet[0]!)
  fork.agentLife?.freeze()
  void cluster.groups?.pluginOf(fork.mysqld)?.formByHand()
  await scenario.until('there are two groups', () => cluster.groups?.ledgers.length === 2)
  fork.agentLife?.thaw()
  await scenario.writeAcknowledged()
  await scenario.until('the other group is gone', () => cluster.groups?.ledgers[1]?.isAble === false)
  await scenario.heal()
  expect(scenario.record.epoch).toBe(1)
})

it('A secondary that a hand opens for writes is in doubt, and is a copy of another member before it counts again', async () => {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
  const { cluster } = scenario
  await scenario.writeAcknowledged()
  const opened = cluster.machines.find((machine) => machine !== scenario.primary)!
  const isInDoubt = () => cluster.observation(opened.name)?.stored.opened === true
  await scenario.until('it follows', () => cluster.observation(opened.name)?.converged.done === true)
  scenario.say('a hand opens it')
  Object.assign(opened.mysqld!, { readOnly: false, superReadOnly: false, isOpenByHand: true })
  await scenario.until('it is in doubt', isInDoubt)
  await scenario.until('it is out of the record', () => !namesOf(cluster.record).includes(opened.name))
  await scenario.heal()
  expect(isInDoubt()).toBe(false)
  expect(namesOf(cluster.record)).toContain(opened.name)
})
