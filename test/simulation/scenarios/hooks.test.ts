import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'
import { hooksEverywhere, lacksAfter } from '../simulated-hooks.ts'

const begin = (hooks = hooksEverywhere): Promise<Scenario> => Scenario.begin({ instances: 3, spec: { hooks } })

const momentsOf = ({ cluster }: Scenario): readonly string[] => cluster.hooks.begun.map(({ told }) => told.moment)

/** The other manager takes over from the one that leads, which dies. */
function changeManager({ cluster, manager }: Scenario): void {
  const at = cluster.managers.indexOf(manager)
  cluster.killManager(at)
  cluster.startManager(1 - at)
}

describe('Hooks in the simulated world', () => {
  it('run before a failover, which waits for them, and after it, and are told of both', async () => {
    const scenario = await begin()
    const { hooks, time } = scenario.cluster
    hooks.ends = () => ({ isDone: true, said: 'exit 0' })
    const [epoch, from] = [scenario.record.epoch, scenario.primary.name]
    scenario.kill(scenario.primary)
    await scenario.until('another one leads', () => scenario.record.epoch > epoch)
    const committedMs = time.nowMs
    expect(hooks.at('beforeFailover')).toHaveLength(2)
    expect(hooks.begun.every(({ told, ended }) => ended || told.moment === 'detected')).toBe(true)
    await scenario.until('all hooks ran', () => hooks.at('afterFailover').length === 2)
    expect(hooks.at('detected')).toHaveLength(2)
    const [told] = hooks.at('afterFailover')
    expect(told).toMatchObject({
      failed: { instance: from },
      successor: { instance: scenario.primary.name },
      recovery: { kind: 'failover', outcome: 'succeeded', failureType: 'DeadPrimary' },
    })
    expect(hooks.begun.findLast(({ told }) => told.moment === 'beforeFailover')?.atMs).toBeLessThan(committedMs)
    await scenario.heal()
  })

  it('run around a switchover', async () => {
    const scenario = await begin()
    const { hooks } = scenario.cluster
    scenario.askForSwitchover(scenario.machine(1))
    await scenario.until('all hooks ran', () => hooks.at('afterSwitchover').length === 2)
    expect(momentsOf(scenario)).toEqual(['beforeSwitchover', 'beforeSwitchover', 'afterSwitchover', 'afterSwitchover'])
    expect(hooks.at('beforeSwitchover')[0]).toMatchObject({ successor: { instance: 'shop-1' } })
  })

  it('stop a failover where they are to, until it is asked again, and a person goes past that', async () => {
    const scenario = await begin({ beforeFailover: [{ command: ['may-we'], onFailure: 'stop' }] })
    const { hooks } = scenario.cluster
    hooks.ends = () => ({ isDone: false, said: 'exit 1: not now' })
    const { epoch } = scenario.record
    scenario.kill(scenario.primary)
    await scenario.until('it is stopped', () => scenario.sentence.includes('hook may-we stopped it'))
    await scenario.goOn(10_000)
    expect(scenario.record.epoch).toBe(epoch)
    expect(hooks.begun).toHaveLength(1)
    expect(scenario.manager.loop.notes.recoveries[0]).toMatchObject({
      outcome: 'undone',
      sentence: 'no failover: hook may-we stopped it: exit 1: not now',
    })
    scenario.askForFailover()
    await scenario.until('a person has it done', () => scenario.record.epoch > epoch)
    expect(hooks.begun).toHaveLength(2)
  })

  it('stop a switchover, whose asker is told, and which is not tried again by itself', async () => {
    const scenario = await begin({ beforeSwitchover: [{ command: ['may-we'], onFailure: 'stop' }] })
    const { cluster, manager } = scenario
    cluster.hooks.ends = () => ({ isDone: false, said: 'exit 1: not now' })
    const request = { to: 'shop-1', reason: '', dryRun: false }
    const asked = manager.operations.perform('switchover', request).catch(String)
    await scenario.until('it is stopped', () => manager.loop.notes.recoveries[0]?.outcome === 'undone')
    await scenario.goOn(30_000)
    expect(cluster.hooks.begun).toHaveLength(1)
    expect(await asked).toContain('no switchover: hook may-we stopped it: exit 1: not now')
  })

  it('are asked again five minutes after one of them stopped a failover', async () => {
    const scenario = await begin({ beforeFailover: [{ command: ['may-we'], onFailure: 'stop' }] })
    const { hooks } = scenario.cluster
    hooks.ends = () => ({ isDone: hooks.begun.length > 1, said: 'exit' })
    const { epoch } = scenario.record
    scenario.kill(scenario.primary)
    await scenario.until('it is stopped', () => scenario.sentence.includes('hook may-we stopped it'))
    await scenario.goOn(290_000)
    expect(hooks.begun).toHaveLength(1)
    await scenario.goOn(20_000)
    expect(hooks.begun).toHaveLength(2)
    expect(scenario.record.epoch).toBe(epoch + 1)
  })

  it('run once, and what follows a failover does follow, where the manager dies at any step of it', async () => {
    const steps = ['detected', 'beforeFailover', 'afterFailover'] as const
    for (const moment of steps)
      for (const ordinal of [0, 1])
        for (const laterMs of [0, 3, 1_200]) {
          const scenario = await begin()
          const { cluster } = scenario
          const { epoch } = scenario.record
          scenario.kill(scenario.primary)
          await scenario.until('it came so far', () => cluster.hooks.at(moment).length > ordinal)
          await scenario.goOn(laterMs)
          changeManager(scenario)
          await scenario.until('another one leads', () => scenario.record.epoch > epoch)
          await scenario.heal()
          await scenario.goOn(5_000)
          const began = cluster.hooks.at('afterFailover').length
          const where = `${moment} ${ordinal}, ${laterMs} ms later`
          expect({ where, lacks: lacksAfter(cluster.hooks, cluster.spec, epoch + 1), began }).toEqual({
            where,
            lacks: undefined,
            began: 2,
          })
        }
  })

  it('follow a failover also where its manager dies right after the commit', async () => {
    for (const laterMs of [0, 1, 5, 20, 100]) {
      const scenario = await begin({ afterFailover: [{ command: ['after'] }] })
      const { cluster } = scenario
      const { epoch } = scenario.record
      scenario.kill(scenario.primary)
      await scenario.until('another one leads', () => scenario.record.epoch > epoch)
      await scenario.goOn(laterMs)
      changeManager(scenario)
      await scenario.heal()
      await scenario.goOn(5_000)
      expect(lacksAfter(cluster.hooks, cluster.spec, epoch + 1)).toBeUndefined()
    }
  })
})
