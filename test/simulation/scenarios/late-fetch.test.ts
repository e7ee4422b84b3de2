import { orders } from '#failover/protocol/order.ts'
import { expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/**
 * shop-3, which may never lead, alone has received a write. One manager lets shop-1 fetch the write, and dies; the
 * order is late. The next manager does not reach shop-3.
 */
it('A fetch that an earlier manager ordered is refused by those who are counted in the next epoch', async () => {
  const scenario = await Scenario.begin({
    instances: 5,
    spec: {
      policies: { 'shop-2': { promotion: 'prefer', priority: 0 }, 'shop-3': { promotion: 'never', priority: 0 } },
    },
  })
  const { cluster, primary } = scenario
  const { held, network } = cluster
  for (const other of ['shop-1', 'shop-2', 'shop-4']) network.separate(primary.name, other)
  const write = scenario.write()
  await scenario.goOn(100)
  expect(write.answer).toBe('waits')
  scenario.cutOffFromManagers(scenario.machine(2))
  scenario.kill(primary)
  held.wanted = ({ path }) => path === orders.fetch.route
  await scenario.until('shop-1 is told to fetch', () => held.all.length > 0)
  const [late] = held.all
  expect(late?.to).toBe('shop-1')
  held.wanted = () => false
  scenario.joinManagers(scenario.machine(2))
  scenario.cutOffFromManagers(scenario.machine(3))
  await scenario.replaceManager()
  await scenario.until('another one leads', () => scenario.record.epoch === 2)
  expect(scenario.primary.name).toBe('shop-2')
  expect(scenario.syncSet.toSorted()).toEqual(['shop-1', 'shop-4'])
  if (late) held.deliver(late)
  await scenario.goOn(3_000)
  expect(scenario.machine(1).folder?.received.contains(write.gtid)).toBe(false)
  await scenario.heal()
})
