import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import type { VolumeSnapshot } from '../machine.ts'
import { Scenario } from '../scenario.ts'

/** What puts this copy in the place of shop-1's volume, after a start of its agent that the copy does not know. */
async function withCopy(scenario: Scenario, volume: VolumeSnapshot) {
  const { cluster, primary } = scenario
  const replica = scenario.machine(1)
  cluster.killAgent(replica)
  cluster.startAgent(replica)
  // The manager notes that start.
  await scenario.goOn(3_000)
  cluster.network.separate(primary.name, 'shop-2')
  const putBack = (): void => {
    scenario.say('the copy is put back')
    cluster.putVolume(replica, volume)
    cluster.startAgent(replica)
  }
  return { scenario, primary, replica, putBack }
}

/** The copy is from when shop-1 followed as it does now. */
async function withCopyOfFollower() {
  const scenario = await Scenario.begin({ instances: 3 })
  return withCopy(scenario, scenario.machine(1).snapshot())
}

/** The copy is from when shop-1 had stopped in order, to be promoted: with that it forgot nothing. */
async function withCopyOfCandidate() {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const { held } = cluster
  const replica = scenario.machine(1)
  held.wanted = ({ to, path }) => to === replica.name && path === orders.assign.route && scenario.record.epoch === 2
  scenario.askForSwitchover(replica)
  await scenario.until('it is to lead', () => held.all.length > 0)
  await scenario.goOn(1_500)
  const volume = replica.snapshot()
  held.lose()
  await scenario.until('it leads', () => replica.mysqld?.mayWrite === true)
  await scenario.goOn(2_000)
  scenario.askForSwitchover(primary)
  await scenario.until('shop-0 leads again', () => primary.mysqld?.mayWrite === true)
  await scenario.goOn(2_000)
  return withCopy(scenario, volume)
}

describe('A replica whose volume went back in time', () => {
  it('counts for nothing at a failover: what it acknowledged since is not there', async () => {
    const { scenario, primary, putBack } = await withCopyOfCandidate()
    await scenario.writeAcknowledged()
    scenario.kill(primary)
    putBack()
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(3)
    expect(scenario.sentence).toContain('2 members of the sync set must promise')
    await scenario.heal()
  })

  it('acknowledges nothing before a manager that knows its past has told it what it is', async () => {
    const { scenario, replica, putBack } = await withCopyOfFollower()
    const { cluster } = scenario
    for (const index of cluster.managers.keys()) cluster.killManager(index)
    putBack()
    const write = scenario.write()
    await scenario.until('it follows', () => replica.mysqld?.receiver.status === 'yes')
    await scenario.goOn(2_000)
    expect(write.answer).toBe('waits')
    await scenario.heal()
  })
})
