import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

it('A primary that does not hear its replicas gives way to one that holds what waits, and nothing is lost', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const first = scenario.primary
  const before = await scenario.writeAcknowledged()
  scenario.deafen(first)
  const write = scenario.write()
  await scenario.goOn(2_500)
  expect(write.answer).toBe('waits')
  expect(scenario.primary).toBe(first)
  await scenario.until('another leads', () => scenario.primary !== first, 10_000)
  await scenario.until('it takes writes', () => scenario.primary.mysqld?.mayWrite === true)
  expect(write.answer).toBe('lost')
  for (const { gtid } of [before, write]) expect(scenario.primary.folder?.executed.contains(gtid)).toBe(true)
  await scenario.heal()
})

it('A primary whose replicas do not hold what waits is waited for', async () => {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  for (const other of ['shop-1', 'shop-2']) cluster.network.separate(primary.name, other)
  const write = scenario.write()
  await scenario.goOn(20_000)
  expect(scenario.primary).toBe(primary)
  await scenario.heal()
  expect(write.answer).toBe('ok')
})
