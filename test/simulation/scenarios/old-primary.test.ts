import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/** shop-0 leads no more, and knows nothing of that: a client waits there, and no replica acknowledges. */
async function withDeposedPrimary() {
  const scenario = await Scenario.begin({ instances: 3 })
  const { cluster, primary } = scenario
  const everybody = ['shop-1', 'shop-2', 'manager-0', 'manager-1']
  scenario.cutOff(primary, everybody)
  const write = scenario.write(primary)
  await scenario.until('another one leads', () => scenario.record.epoch === 2)
  expect(write.answer).toBe('waits')
  return { scenario, cluster, primary, write }
}

describe('An old primary where a client waits for an acknowledgement', () => {
  it('tells that client nothing when it hears of its successor: its server is killed', async () => {
    const { scenario, primary, write } = await withDeposedPrimary()
    const server = primary.mysqld
    scenario.joinManagers(primary)
    await scenario.until('its agent follows the next epoch', () => {
      return scenario.cluster.observation(primary.name)?.stored.promise === 2
    })
    await scenario.goOn(100)
    expect(server?.state).toBe('dead')
    expect(write.answer).toBe('lost')
    await scenario.heal()
  })

  it('which promised yet another epoch stays down, whatever it heard of its successor', async () => {
    const { scenario, cluster, primary } = await withDeposedPrimary()
    scenario.kill(primary)
    const before = scenario.orderFor(primary)
    cluster.held.wanted = ({ to }) => to === primary.name
    cluster.startAgent(primary)
    scenario.joinManagers(primary)
    await scenario.until('it is told to follow', () => cluster.held.all.length > 0)
    expect(await scenario.late(primary, orders.promise.route, { ...before, epoch: 3, after: '', waitMs: 0 })).toBe('')
    cluster.held.lose()
    await scenario.goOn(3_000)
    expect(primary.mysqld?.isUp ?? false).toBe(false)
    expect(cluster.observation(primary.name)?.stored.promise).toBe(3)
  })

  it('which promised yet another epoch before its tail was judged stays down', async () => {
    const { scenario, cluster, primary } = await withDeposedPrimary()
    scenario.kill(primary)
    primary.isBinlogUnreadable = true
    cluster.startAgent(primary)
    scenario.joinManagers(primary)
    const isTold = (): boolean => cluster.observation(primary.name)?.stored.assignment?.epoch === 2
    await scenario.until('it is told to follow', isTold)
    cluster.held.wanted = ({ to }) => to === primary.name
    const order = { ...scenario.orderFor(primary), epoch: 3, after: '', waitMs: 0 }
    expect(await scenario.late(primary, orders.promise.route, order)).toBe('')
    primary.isBinlogUnreadable = false
    await scenario.goOn(3_000)
    expect(primary.mysqld?.isUp ?? false).toBe(false)
  })
})

describe('A server that was primary', () => {
  it('starts closed, although a hand has persisted that it is open', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    scenario.say('a hand: SET PERSIST super_read_only = OFF')
    if (primary.folder) primary.folder.persistsOpen = true
    primary.mysqld?.die()
    await scenario.until('another one leads', () => scenario.record.epoch === 2)
    await scenario.until('it is up again', () => primary.mysqld?.isUp === true)
    expect(primary.mysqld?.mayWrite).toBe(false)
    await scenario.heal()
    expect(cluster.machines.filter(({ mysqld }) => mysqld?.mayWrite)).toHaveLength(1)
  })
})
