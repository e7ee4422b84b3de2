import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/**
 * shop-1 leads epoch 2 after a switchover, and has gathered shop-2: shop-2 promised epoch 2 with its receiver running,
 * and has not heard of that epoch.
 */
async function withOneGathered(): Promise<Scenario> {
  const scenario = await Scenario.begin({ instances: 3 })
  const { held } = scenario.cluster
  held.wanted = ({ to, path }) => to === 'shop-2' && path === orders.assign.route && scenario.record.intent === null
  scenario.askForSwitchover(scenario.machine(1))
  await scenario.until('shop-1 leads', () => scenario.record.epoch === 2)
  await scenario.until('shop-1 takes writes', () => scenario.machine(1).mysqld?.mayWrite === true)
  await scenario.goOn(200)
  expect(scenario.cluster.observation('shop-2')?.stored).toMatchObject({ promise: 2, assignment: { epoch: 1 } })
  expect(scenario.primary.mysqld?.dumps.map(({ instance }) => instance)).toContain('shop-2')
  return scenario
}

describe('A switchover', () => {
  it('answers each write that was begun before it, and no server has a write more than others then', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const writes = scenario.writeOften(scenario.primary, 0.5)
    scenario.askForSwitchover(scenario.machine(1))
    await scenario.until('it ends', () => scenario.record.epoch === 2)
    expect(scenario.primary.name).toBe('shop-1')
    await scenario.goOn(500)
    expect(writes.filter(({ answer }) => answer !== 'ok' && answer !== 'refused')).toEqual([])
    await scenario.heal()
    expect(scenario.cluster.machines.flatMap(({ archived }) => archived)).toEqual([])
  })
})

describe('A replica that a switchover’s candidate gathered', () => {
  it('acknowledges nothing more to that one once it promised at a failover', async () => {
    const scenario = await withOneGathered()
    const { cluster, primary } = scenario
    const { held } = cluster
    const before = held.wanted
    scenario.cutOffFromManagers(primary)
    await scenario.goOn(2_000)
    held.wanted = (letter) => before(letter) || (letter.to === 'shop-0' && letter.path === orders.promise.route)
    scenario.askForFailover()
    await scenario.until('it has promised', () => cluster.observation('shop-2')?.promiseReport?.epoch === 3)
    await scenario.goOn(10)
    scenario.manager.life.freeze()
    cluster.network.separate(primary.name, 'shop-0')
    const write = scenario.write(primary)
    await scenario.goOn(300)
    expect(write.answer).toBe('waits')
    for (const letter of held.all) if (letter.path === orders.promise.route) held.deliver(letter)
    held.lose()
    await scenario.goOn(50)
    scenario.manager.life.thaw()
    await scenario.until('another one leads', () => scenario.record.epoch === 3)
    await scenario.heal()
  })

  it('stops receiving where it promises the same epoch anew to somebody else', async () => {
    const scenario = await withOneGathered()
    const gathered = scenario.machine(2)
    const order = { ...scenario.orderFor(gathered), after: '', waitMs: 0 }
    expect(await scenario.late(gathered, orders.promise.route, order)).toBe('')
    expect(gathered.mysqld?.receiver.status).toBe('no')
    scenario.cluster.held.lose()
    await scenario.heal()
  })

  it('stops receiving where it was told to follow that one and has not connected yet', async () => {
    const scenario = await Scenario.begin({ instances: 4 })
    const { cluster } = scenario
    const [candidate, gathered] = [scenario.machine(1), scenario.machine(3)]
    cluster.network.separate(candidate.name, gathered.name)
    scenario.askForSwitchover(candidate)
    const follows = (): string | undefined => gathered.folder?.source?.host
    await scenario.until('it is told to follow', () => follows() === candidate.host)
    scenario.manager.life.freeze()
    const order = { ...scenario.orderFor(gathered), epoch: 2, after: '', waitMs: 0, keepReceiverFrom: candidate.name }
    expect(await scenario.late(gathered, orders.promise.route, order)).toBe('')
    expect(gathered.mysqld?.receiver.status).toBe('no')
    await scenario.heal()
  })

  it('has forgotten what it received where its machine lost power', async () => {
    const scenario = await withOneGathered()
    const { cluster, primary } = scenario
    const gathered = scenario.machine(2)
    // Its agent looks at what it stopped once a second.
    await scenario.goOn(1_500)
    cluster.network.separate(primary.name, 'shop-0')
    scenario.holdApplier(gathered)
    await scenario.writeAcknowledged()
    scenario.powerCut(gathered)
    scenario.kill(primary)
    cluster.held.lose()
    cluster.startAgent(gathered)
    await scenario.goOn(20_000)
    expect(scenario.record.epoch).toBe(2)
    await scenario.heal()
  })
})
