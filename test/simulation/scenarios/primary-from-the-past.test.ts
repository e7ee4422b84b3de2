import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

describe('A primary whose volume went back in time within one run of its agent', () => {
  it('is not started again while a member of the sync set holds what it lacks', async () => {
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
    expect(scenario.record.primary).not.toContain('shop-0@')
  })
})
