import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

describe('A primary whose volume went back in time', () => {
  it('within one run of its agent is not started again while a member of the sync set holds what it lacks', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const copy = primary.snapshot()
    scenario.kill(scenario.machine(2))
    await scenario.writeAcknowledged()
    scenario.say('the volume of the primary goes back in time')
    cluster.putVolume(primary, copy)
    cluster.startAgent(primary)
    await scenario.until('the manager has judged that', () => scenario.sentence.includes('is not started again'))
    expect(scenario.sentence).toContain('shop-0 lacks 1 transaction that shop-1 received from it')
    await scenario.heal()
    expect(scenario.record.epoch).toBe(2)
    expect(scenario.primary.name).toBe('shop-1')
  })

  it('is not started again by its agent, to which no manager speaks', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const copy = primary.snapshot()
    cluster.killAgent(primary)
    cluster.startAgent(primary)
    // The manager notes that start.
    await scenario.goOn(3_000)
    await scenario.writeAcknowledged()
    // S alone cannot revoke.
    scenario.kill(scenario.machine(2))
    scenario.say('the volume of the primary goes back in time')
    cluster.putVolume(primary, copy)
    cluster.startAgent(primary)
    await scenario.goOn(40_000)
    expect(primary.mysqld).toBeNull()
    expect(scenario.sentence).toContain('the volume of shop-0 went back in time')
    await scenario.heal()
    expect(scenario.primary.name).toBe('shop-1')
  })
})
