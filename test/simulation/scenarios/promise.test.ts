import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import { heldBy } from '../rules.ts'
import { Scenario } from '../scenario.ts'

/**
 * A person has another one lead while no manager reaches shop-0, which goes on taking writes. shop-2 has promised epoch
 * 2 and has reported, and the manager stands still; the order that shop-1 is to promise as well is on its way.
 */
async function withOneOfTwoPromised(scenario: Scenario): Promise<void> {
  const { cluster, primary } = scenario
  scenario.cutOffFromManagers(primary)
  await scenario.goOn(2_000)
  const { held } = cluster
  const before = held.wanted
  held.wanted = (letter) => before(letter) || (letter.to === 'shop-1' && letter.path === orders.promise.route)
  scenario.askForFailover()
  await scenario.until('shop-2 has promised', () => cluster.observation('shop-2')?.promiseReport?.epoch === 2)
  await scenario.goOn(10)
  scenario.manager.life.freeze()
}

/** The manager goes on and hears of both promises, of which one is old. */
async function promiseTheOther(scenario: Scenario): Promise<void> {
  const { held } = scenario.cluster
  for (const letter of held.all) if (letter.path === orders.promise.route) held.deliver(letter)
  held.lose()
  await scenario.goOn(50)
  scenario.manager.life.thaw()
  await scenario.until('another one leads', () => scenario.record.epoch >= 2)
  await scenario.goOn(1_000)
}

describe('A replica that has promised the next epoch', () => {
  it('holds nothing that its report does not name, however much is written at the old primary', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { primary } = scenario
    scenario.cutOffFromManagers(primary)
    await scenario.goOn(2_000)
    scenario.writeOften(primary, 0.5)
    scenario.askForFailover()
    const report = () => scenario.cluster.observation('shop-2')?.promiseReport
    await scenario.until('shop-2 has promised', () => report()?.epoch === 2)
    scenario.manager.life.freeze()
    await scenario.goOn(50)
    expect(report()?.holds).toBe(heldBy(scenario.machine(2)).toString())
    scenario.manager.life.thaw()
    await scenario.until('another one leads', () => scenario.record.epoch === 2)
    primary.mysqld?.die()
    await scenario.heal()
  })

  it('acknowledges nothing more to the old primary where its agent is started again', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    await withOneOfTwoPromised(scenario)
    const replica = scenario.machine(2)
    cluster.killAgent(replica)
    cluster.startAgent(replica)
    await scenario.goOn(300)
    const write = scenario.write(primary)
    cluster.network.separate(primary.name, 'shop-1')
    await scenario.goOn(300)
    expect(write.answer).toBe('waits')
    await promiseTheOther(scenario)
    await scenario.heal()
  })

  it('acknowledges nothing more to the old primary by an assignment from before its promise', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const { held } = cluster
    const replica = scenario.machine(2)
    held.wanted = ({ to, path }) => to === replica.name && path === orders.assign.route
    cluster.killAgent(replica)
    cluster.startAgent(replica)
    await scenario.until('it is told what it is', () => held.all.length > 0)
    await withOneOfTwoPromised(scenario)
    for (const letter of held.all) if (letter.path === orders.assign.route) held.deliver(letter)
    await scenario.goOn(300)
    cluster.network.separate(primary.name, 'shop-1')
    const write = scenario.write(primary)
    await scenario.goOn(300)
    expect(write.answer).toBe('waits')
    await promiseTheOther(scenario)
    await scenario.heal()
  })
})

describe('A replica that the record counts no more', () => {
  it('acknowledges nothing by an assignment from when it was counted', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const { held } = cluster
    const replica = scenario.machine(2)
    held.wanted = ({ to, path }) => to === replica.name && path === orders.assign.route
    cluster.killAgent(replica)
    cluster.startAgent(replica)
    await scenario.until('it is told what it is', () => held.all.length > 0)
    const [late] = held.all
    held.wanted = () => false
    scenario.cutOffFromManagers(replica)
    await scenario.until('it left the sync set', () => !scenario.syncSet.includes(replica.name))
    scenario.joinManagers(replica)
    const dumps = () => primary.mysqld?.dumps.map(({ instance }) => instance)
    await scenario.until('it is let in to catch up', () => dumps()?.includes(replica.name) === true)
    scenario.manager.life.freeze()
    expect(scenario.syncSet).toEqual(['shop-1'])
    if (late) held.deliver(late)
    await scenario.goOn(500)
    scenario.manager.life.thaw()
    await scenario.heal()
  })
})
