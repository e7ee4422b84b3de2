import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'
import { withFailedOverToTheOnlyHolder } from './small-sync-set.ts'

describe('A replica', () => {
  it('acknowledges nothing from the moment on at which the sync set is without it, although its agent is dead', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const replica = scenario.machine(2)
    scenario.cluster.killAgent(replica)
    await scenario.until('it left the sync set', () => !scenario.syncSet.includes('shop-2'))
    await scenario.writeAcknowledged()
    await scenario.goOn(5_000)
    expect(replica.mysqld?.state).toBe('running')
    expect(scenario.primary.mysqld?.dumps.map(({ instance }) => instance)).toEqual(['shop-1'])
    await scenario.heal()
  })

  it('leaves the sync set once a marker has proved that the others hold everything, and not before', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    cluster.network.cut(primary.name, 'shop-1')
    await scenario.writeAcknowledged()
    cluster.killAgent(scenario.machine(2))
    await scenario.until('shop-2 is to leave', () => scenario.record.leaving.length === 1)
    await scenario.goOn(10_000)
    expect(scenario.syncSet.toSorted()).toEqual(['shop-1', 'shop-2'])
    cluster.network.join(primary.name, 'shop-1')
    await scenario.until('it left the sync set', () => !scenario.syncSet.includes('shop-2'))
    expect(scenario.machine(1).folder?.received.contains(scenario.acknowledged)).toBe(true)
    await scenario.heal()
  })
})

describe('While the sync set is smaller than the acknowledgements that a write needs,', () => {
  it('nobody makes it large enough before so many hold everything', async () => {
    const scenario = await withFailedOverToTheOnlyHolder()
    await scenario.until('somebody is in the sync set', () => scenario.syncSet.length === 1)
    await scenario.goOn(3_000)
    expect(scenario.syncSet).toHaveLength(1)
    scenario.cluster.network.slowAt.clear()
    await scenario.until('two are in the sync set', () => scenario.syncSet.length === 2)
    await scenario.heal()
  })

  it('writes need no fewer acknowledgements before so many hold everything', async () => {
    const scenario = await withFailedOverToTheOnlyHolder()
    await scenario.until('somebody is in the sync set', () => scenario.syncSet.length === 1)
    scenario.cluster.network.slowAt.set('shop-3', 1e6)
    scenario.write(scenario.primary)
    await scenario.goOn(100)
    await scenario.replaceManager({ acks: 1 })
    await scenario.goOn(3_000)
    expect(scenario.record.acks).toBe(2)
    scenario.cluster.network.slowAt.clear()
    await scenario.until('writes need one acknowledgement', () => scenario.record.acks === 1)
    await scenario.heal()
  })
})

describe('The record', () => {
  it('says that writes need one acknowledgement more only once so many have proved to hold everything', async () => {
    const scenario = await Scenario.begin({ instances: 5, spec: { acks: 1 } })
    const { cluster, primary } = scenario
    for (const other of ['shop-2', 'shop-3', 'shop-4']) cluster.network.cut(primary.name, other)
    await scenario.writeAcknowledged()
    await scenario.replaceManager({ acks: 2 })
    await scenario.until('the primary is to wait for two', () => scenario.record.acksWanted === 2)
    await scenario.goOn(1_000)
    expect(primary.mysqld?.semiSyncSource.acks).toBe(2)
    expect(scenario.record.acks).toBe(1)
    await scenario.heal()
    expect(scenario.record).toMatchObject({ acks: 2, acksWanted: 2 })
  })
})
