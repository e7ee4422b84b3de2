import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/** shop-1 is elected, and has not applied the last write, which both replicas received. Neither applies anything. */
async function withUnappliedWrite() {
  const scenario = await Scenario.begin({ instances: 3 })
  const [first, second, third] = [scenario.machine(0), scenario.machine(1), scenario.machine(2)]
  scenario.holdApplier(second)
  scenario.holdApplier(third)
  const write = await scenario.writeAcknowledged()
  await scenario.until('both have received it', () =>
    [second, third].every(({ folder }) => folder?.received.contains(write.gtid)),
  )
  scenario.kill(first)
  await scenario.until('shop-1 is elected', () => scenario.primary === second)
  return { scenario, second, third, write }
}

describe('An elected primary whose applier does not get on', () => {
  it('is waited for while nobody else has applied more, however long', async () => {
    const { scenario, second } = await withUnappliedWrite()
    await scenario.goOn(40_000)
    expect(scenario.primary).toBe(second)
    expect(second.mysqld?.mayWrite).toBe(false)
    expect(scenario.sentence).toContain('shop-1 is elected and applies 1 transaction before it takes writes')
    expect(scenario.sentence).toContain('shop-2 has 1 transaction to apply itself')
    await scenario.heal()
  })

  it('gives way to a member that has applied everything, which opens with all that was acknowledged', async () => {
    const { scenario, third, write } = await withUnappliedWrite()
    scenario.releaseApplier(third)
    await scenario.until('shop-2 leads', () => scenario.primary === third, 20_000)
    await scenario.until('it takes writes', () => third.mysqld?.mayWrite === true)
    expect(third.folder?.executed.contains(write.gtid)).toBe(true)
    await scenario.heal()
  })

  it('does not open without what a hand threw away, and gives way to a member that holds that', async () => {
    const { scenario, second, third, write } = await withUnappliedWrite()
    await scenario.until('it applies', () => second.mysqld?.applierRuns === true)
    scenario.throwAwayReceived(second)
    await scenario.until('shop-2 leads', () => scenario.primary === third, 20_000)
    scenario.releaseApplier(third)
    await scenario.until('it takes writes', () => third.mysqld?.mayWrite === true)
    expect(third.folder?.executed.contains(write.gtid)).toBe(true)
    await scenario.heal()
  })
})

describe('An open primary', () => {
  it('lets those who wait for an acknowledgement wait while its agent is started again', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    for (const other of ['shop-1', 'shop-2']) cluster.network.separate(primary.name, other)
    const writes = Array.from({ length: 20 }, () => scenario.write())
    cluster.killAgent(primary)
    cluster.startAgent(primary)
    await scenario.goOn(2_000)
    expect(writes.map(({ answer }) => answer)).toEqual(writes.map(() => 'waits'))
    await scenario.heal()
    expect(writes.map(({ answer }) => answer)).toEqual(writes.map(() => 'ok'))
  })
})
