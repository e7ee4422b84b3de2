import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import type { Machine } from '../machine.ts'
import { Scenario, type Write } from '../scenario.ts'

/** shop-1 alone has acknowledged the last write, and has not applied that. */
async function withOneHolder() {
  const scenario = await Scenario.begin({ instances: 3 })
  const { primary } = scenario
  const replica = scenario.machine(1)
  scenario.cluster.network.separate(primary.name, 'shop-2')
  scenario.holdApplier(replica)
  const write = await scenario.writeAcknowledged()
  return { scenario, primary, replica, write }
}

/** The primary dies, and nobody is elected although both replicas answer: shop-1 does not count. */
async function expectNoFailover(scenario: Scenario, replica: Machine): Promise<void> {
  scenario.kill(scenario.primary)
  await scenario.goOn(20_000)
  expect(scenario.record.epoch).toBe(1)
  expect(scenario.cluster.observation(replica.name)?.stored.forgetful).toBe(true)
  expect(scenario.sentence).toContain('bring back shop-0, shop-1')
}

describe('A replica that holds less than it acknowledged', () => {
  it('counts for nothing where its machine lost power', async () => {
    const { scenario, replica } = await withOneHolder()
    scenario.powerCut(replica)
    scenario.cluster.startAgent(replica)
    await expectNoFailover(scenario, replica)
    await scenario.heal()
  })

  it('counts for nothing where a hand threw away what it had received', async () => {
    const { scenario, replica } = await withOneHolder()
    await scenario.goOn(1_000)
    scenario.throwAwayReceived(replica)
    await expectNoFailover(scenario, replica)
    await scenario.heal()
  })
})

/**
 * Each has a manager that hears nothing of the primary from before the write on: what it says of the primary is older
 * than what the replica forgot.
 */
const ways: readonly (readonly [how: string, forget: () => Promise<Forgotten>])[] = [
  ['its machine lost power', forgetInPowerCut],
  ['a hand threw that away with more that its agent had seen', forgetUnseen],
]

interface Forgotten {
  readonly scenario: Scenario
  readonly replica: Machine
  readonly write: Write
}

async function forgetInPowerCut(): Promise<Forgotten> {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const replica = scenario.machine(1)
  cluster.network.separate(primary.name, 'shop-2')
  scenario.holdApplier(replica)
  scenario.cutOffFromManagers(primary)
  const write = await scenario.writeAcknowledged()
  scenario.powerCut(replica)
  cluster.network.slowAt.set(replica.name, 1e6)
  cluster.startAgent(replica)
  return { scenario, replica, write }
}

async function forgetUnseen(): Promise<Forgotten> {
  const { scenario, primary, replica, write: seen } = await withOneHolder()
  const { network } = scenario.cluster
  await scenario.goOn(1_000)
  scenario.cutOffFromManagers(primary)
  const write = await scenario.writeAcknowledged()
  scenario.throwAwayReceived(replica)
  network.slowAt.set(replica.name, 30)
  await scenario.until('it has received the first again', () => replica.folder?.received.contains(seen.gtid) === true)
  network.slowAt.set(replica.name, 1e6)
  network.cut(primary.name, replica.name)
  return { scenario, replica, write }
}

describe('A replica that forgot a write', () => {
  it.each(ways)('does not catch up with what its primary had said before: %s', async (_, forget) => {
    const { scenario, replica, write } = await forget()
    const { cluster } = scenario
    const told = (): boolean => cluster.observation(replica.name)?.stored.forgetful === true
    await scenario.until('its agent knows that it forgot something', told, 1_000)
    await scenario.until('it follows again', () => replica.mysqld?.receiver.status === 'yes')
    await scenario.goOn(600)
    expect(replica.folder?.received.contains(write.gtid)).toBe(false)
    scenario.joinManagers(scenario.primary)
    await expectNoFailover(scenario, replica)
    await scenario.heal()
  })

  it('remembers nothing by an assignment from before its machine lost power', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const replica = scenario.machine(1)
    const { held } = cluster
    held.copied = ({ to, path }) => to === replica.name && path === orders.assign.route
    scenario.powerCut(replica)
    cluster.startAgent(replica)
    await scenario.until('it is out of the sync set', () => !scenario.syncSet.includes(replica.name))
    await scenario.until('it is back in the sync set', () => scenario.syncSet.includes(replica.name))
    await scenario.goOn(1_000)
    const late = held.all.at(-1)
    expect(late?.body).toMatchObject({ counted: true, revision: scenario.record.revision })
    held.copied = () => false
    cluster.network.separate(primary.name, 'shop-2')
    scenario.holdApplier(replica)
    await scenario.writeAcknowledged()
    scenario.manager.life.freeze()
    scenario.powerCut(replica)
    cluster.network.slowAt.set(replica.name, 1e6)
    const before = cluster.observation(replica.name)?.agentRun
    cluster.startAgent(replica)
    await scenario.until('its agent is there', () => cluster.observation(replica.name)?.agentRun !== before)
    if (late) held.deliver(late)
    await scenario.until('it follows again', () => replica.mysqld?.receiver.status === 'yes')
    await scenario.goOn(600)
    scenario.kill(primary)
    scenario.manager.life.thaw()
    await expectNoFailover(scenario, replica)
    await scenario.heal()
  })
})
