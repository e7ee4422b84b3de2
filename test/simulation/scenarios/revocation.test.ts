import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

describe('A failover', () => {
  it('elects the one that holds every acknowledged write, whoever comes first by ordinal', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    cluster.network.separate(primary.name, 'shop-1')
    await scenario.writeAcknowledged()
    scenario.kill(primary)
    await scenario.until('another one leads', () => scenario.record.epoch === 2)
    expect(scenario.primary.name).toBe('shop-2')
    await scenario.heal()
  })

  it('waits while those who promised may all lack an acknowledged write', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    cluster.network.separate(primary.name, 'shop-1')
    await scenario.writeAcknowledged()
    scenario.cutOffFromManagers(scenario.machine(2))
    scenario.kill(primary)
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(1)
    expect(scenario.sentence).toContain('2 members of the sync set must promise')
    scenario.joinManagers(scenario.machine(2))
    await scenario.until('another one leads', () => scenario.record.epoch === 2)
    expect(scenario.primary.name).toBe('shop-2')
    await scenario.heal()
  })

  it('waits while the sync set is smaller than the acknowledgements that a write needs', async () => {
    const { scenario, primary } = await withSmallSyncSet()
    scenario.kill(primary)
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(2)
    expect(scenario.sentence).toContain('only the primary’s own agent can say what was acknowledged')
    await scenario.heal()
  })
})

/**
 * Writes need two acknowledgements. After a failover only the new primary has the last write; shop-3 alone is in its
 * sync set, and receives nothing for a while.
 */
async function withSmallSyncSet() {
  const scenario = await Scenario.begin({ instances: 5 })
  const { cluster, primary } = scenario
  for (const name of ['shop-3', 'shop-4']) cluster.network.separate(primary.name, name)
  await scenario.writeAcknowledged()
  scenario.kill(primary)
  scenario.kill(scenario.machine(2))
  cluster.network.slowAt.set('shop-3', 1e6)
  scenario.cutOff(scenario.machine(4), ['shop-1'])
  await scenario.until('another one leads', () => scenario.record.epoch === 2)
  expect(scenario.primary.name).toBe('shop-1')
  expect(scenario.syncSet).toEqual([])
  await scenario.until('shop-3 is in the sync set', () => scenario.syncSet.includes('shop-3'))
  return { scenario, primary: scenario.primary }
}
