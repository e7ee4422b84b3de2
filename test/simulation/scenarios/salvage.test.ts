import { describe, expect, it } from 'vitest'
import { memberOf } from '#topology/testing.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { Scenario } from '../scenario.ts'

/** Writes that clients heard OK for are in the binlog of the primary alone, and its mysqld is dead. */
async function withTail(replicas: 1 | 2): Promise<Scenario> {
  const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'async' } })
  const { cluster, primary } = scenario
  const apart = ['shop-1', 'shop-2'].slice(0, replicas)
  for (const name of apart) cluster.network.separate(primary.name, name)
  for (let write = 0; write < 5; write += 1) await scenario.writeAcknowledged()
  await scenario.goOn(300)
  for (const name of apart) expect(cluster.machine(name).folder?.received.contains(scenario.acknowledged)).toBe(false)
  primary.mysqld?.die()
  for (const name of apart) cluster.network.join(primary.name, name)
  return scenario
}

describe('In mode async a failover', () => {
  it('brings what only the volume of the dead primary had', async () => {
    const scenario = await withTail(2)
    await scenario.until('another one leads', () => scenario.primary.name !== 'shop-0')
    expect(scenario.primary.folder?.executed.contains(scenario.acknowledged)).toBe(true)
    await scenario.heal()
  })

  it('elects the one that received most', async () => {
    const scenario = await withTail(1)
    await scenario.until('another one leads', () => scenario.primary.name !== 'shop-0')
    expect(scenario.primary.name).toBe('shop-2')
    await scenario.heal()
  })

  it('is gone on with where the manager died in the middle of it', async () => {
    const scenario = await withTail(2)
    await scenario.until('one fetches', () => scenario.sentence.includes('what is being fetched'))
    await scenario.replaceManager()
    await scenario.until('another one leads', () => scenario.primary.name !== 'shop-0')
    expect(scenario.primary.folder?.executed.contains(scenario.acknowledged)).toBe(true)
    await scenario.heal()
  })

  it('is given to another one where whoever fetches is gone', async () => {
    const scenario = await withTail(2)
    await scenario.until('one fetches', () => scenario.sentence.includes('what is being fetched'))
    const { candidate } = scenario.record.intent ?? {}
    const [gone, other] = candidate === memberOf('shop-1') ? ['shop-1', 'shop-2'] : ['shop-2', 'shop-1']
    scenario.cutOffFromManagers(scenario.cluster.machine(gone ?? ''))
    await scenario.until('another one leads', () => scenario.primary.name === other, 20_000)
    expect(scenario.primary.folder?.executed.contains(scenario.acknowledged)).toBe(true)
    await scenario.heal()
  })

  it('does not begin while nobody hears the agent of the primary', async () => {
    const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'async' } })
    const { primary } = scenario
    scenario.cutOff(primary, ['shop-1', 'shop-2'])
    scenario.cutOffFromManagers(primary)
    await scenario.writeAcknowledged()
    await scenario.goOn(20_000)
    expect(scenario.record).toMatchObject({ epoch: 1, intent: null })
    expect(scenario.sentence).toContain('bring back shop-0')
    await scenario.heal()
  })

  it('with a loss accepted ahead of time begins once the silent primary has surely closed', async () => {
    const failover = { automatic: true, acceptLoss: 'always' } as const
    const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'async', failover } })
    const { primary, cluster } = scenario
    scenario.cutOff(primary, ['shop-1', 'shop-2'])
    scenario.cutOffFromManagers(primary)
    const cutMs = cluster.time.nowMs
    await scenario.goOn(4_000)
    expect(primary.mysqld?.mayWrite).toBe(true)
    await scenario.until('another one leads', () => scenario.record.epoch > 1)
    expect(primary.mysqld?.mayWrite ?? false).toBe(false)
    expect(cluster.time.nowMs - cutMs).toBeGreaterThan(defaultTimings.leaseMs)
    await scenario.heal()
  })
})
