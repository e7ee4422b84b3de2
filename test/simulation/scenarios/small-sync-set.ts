import { expect } from 'vitest'
import { Scenario } from '../scenario.ts'

/**
 * A cluster whose writes need two acknowledgements, right after a failover: of those who promised, shop-1 alone has the
 * last write, and leads. shop-3 and shop-4 follow, and shop-4 receives nothing for a while. shop-0 and shop-2 are down.
 */
export async function withFailedOverToTheOnlyHolder(): Promise<Scenario> {
  const scenario = await Scenario.begin({ instances: 5 })
  const { cluster, primary } = scenario
  for (const name of ['shop-3', 'shop-4']) cluster.network.separate(primary.name, name)
  await scenario.writeAcknowledged()
  scenario.kill(primary)
  scenario.kill(scenario.machine(2))
  cluster.network.slowAt.set('shop-4', 1e6)
  await scenario.until('another one leads', () => scenario.record.epoch === 2)
  expect(scenario.primary.name).toBe('shop-1')
  return scenario
}
