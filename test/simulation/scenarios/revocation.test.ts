import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'
import { withFailedOverToTheOnlyHolder } from './small-sync-set.ts'

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

  it('has its candidate fetch what only one holds who may never lead, and apply that before it opens', async () => {
    const policies = { 'shop-2': { promotion: 'never', priority: 0 } } as const
    const scenario = await Scenario.begin({ instances: 3, spec: { policies } })
    const { cluster, primary } = scenario
    const candidate = scenario.machine(1)
    cluster.network.separate(primary.name, candidate.name)
    const write = await scenario.writeAcknowledged()
    scenario.kill(primary)
    await scenario.until('shop-1 leads', () => scenario.primary === candidate)
    candidate.slowestApplyMs = 300
    await scenario.until('it takes writes', () => candidate.mysqld?.mayWrite === true)
    expect(candidate.folder?.executed.contains(write.gtid)).toBe(true)
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
    const scenario = await withFailedOverToTheOnlyHolder()
    await scenario.until('somebody is in the sync set', () => scenario.syncSet.length === 1)
    scenario.kill(scenario.primary)
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(2)
    expect(scenario.sentence).toContain('only its agent knows which writes count')
    await scenario.heal()
  })
})

describe('The sync set of a new epoch', () => {
  it('has nobody who promised nothing', async () => {
    const scenario = await Scenario.begin({ instances: 5 })
    scenario.cutOffFromManagers(scenario.machine(4))
    scenario.kill(scenario.primary)
    await scenario.until('another one leads', () => scenario.record.epoch === 2)
    expect(scenario.primary.name).toBe('shop-1')
    expect(scenario.syncSet.toSorted()).toEqual(['shop-2', 'shop-3'])
    await scenario.heal()
  })

  it('is empty where too few of those who promised hold all that the new primary holds', async () => {
    const scenario = await withFailedOverToTheOnlyHolder()
    expect(scenario.record.acks).toBe(2)
    expect(scenario.syncSet).toEqual([])
    await scenario.heal()
  })
})
