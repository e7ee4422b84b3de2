import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import type { Machine } from '../machine.ts'
import { Scenario } from '../scenario.ts'

const begin = (instances = 3): Promise<Scenario> => Scenario.begin({ instances, spec: { mode: 'group' } })

function killServers({ cluster }: Scenario): void {
  for (const { mysqld } of cluster.machines) mysqld?.die()
}

const isMember = ({ cluster }: Scenario, machine: Machine): boolean => cluster.groups?.memberAt(machine) !== undefined

describe('A group whose servers all died', () => {
  it('is formed anew only once each member that the record names was compared', async () => {
    const scenario = await begin()
    const { cluster } = scenario
    const silent = scenario.machine(2)
    cluster.killAgent(silent)
    killServers(scenario)
    await scenario.goOn(15_000)
    expect(scenario.record.epoch).toBe(1)
    expect(scenario.sentence).toContain('The last writes may be on shop-2 alone')
    await scenario.heal()
    expect(scenario.record.epoch).toBe(2)
  })

  it('is formed anew only once each of them has promised', async () => {
    const scenario = await begin()
    const { held } = scenario.cluster
    held.wanted = ({ to, path }) => to === 'shop-2' && path === orders.promise.route
    killServers(scenario)
    await scenario.until('it is asked to promise', () => held.all.length > 0)
    await scenario.goOn(5_000)
    expect(scenario.record.epoch).toBe(1)
    await scenario.heal()
    expect(scenario.record.epoch).toBe(2)
  })

  it('is formed anew by a member that has what its majority received, although its primary has not', async () => {
    const scenario = await begin()
    const { cluster, primary } = scenario
    const [ledger] = cluster.groups?.ledgers ?? []
    cluster.network.slowAt.set(primary.name, 2_000)
    const before = ledger?.holds
    scenario.write(primary)
    await scenario.until('the group has agreed on that', () => ledger?.holds !== before)
    await scenario.goOn(5)
    killServers(scenario)
    cluster.network.slowAt.clear()
    await scenario.until('it is decided who forms the group', () => scenario.record.epoch === 2)
    expect(scenario.primary === primary).toBe(false)
    await scenario.heal()
  })

  it('is formed once in its epoch, although the server that formed the group dies right after that', async () => {
    const scenario = await begin()
    const { cluster } = scenario
    const formed: string[] = []
    cluster.onHappening((happening) => {
      if (happening.kind === 'formed') formed.push(happening.machine.name)
    })
    killServers(scenario)
    await scenario.until('somebody has formed the group', () => formed.length > 0)
    const former = cluster.machine(formed[0] ?? '')
    await scenario.until('somebody has joined', () =>
      cluster.machines.some((one) => one !== former && isMember(scenario, one)),
    )
    scenario.cutOffFromManagers(former)
    former.mysqld?.die()
    await scenario.goOn(5_000)
    scenario.joinManagers(former)
    await scenario.heal()
  })
})

describe('A member of a group', () => {
  it('that was told to promise says what it holds only once it is in no group, and the group goes on in that epoch', async () => {
    const scenario = await begin()
    const replica = scenario.machine(1)
    const order = { ...scenario.orderFor(replica), epoch: 2, after: '', waitMs: 0 }
    expect(await scenario.late(replica, orders.promise.route, order)).toBe('')
    await scenario.goOn(3_000)
    await scenario.heal()
    expect(scenario.record.epoch).toBe(2)
  })

  it('that hears no majority is closed, for reads too', async () => {
    const scenario = await begin()
    const { machines, network } = scenario.cluster
    scenario.manager.life.freeze()
    for (const one of machines) for (const other of machines) if (one !== other) network.separate(one.name, other.name)
    await scenario.goOn(14_000)
    expect(machines.filter(({ mysqld }) => mysqld?.offline === false)).toHaveLength(0)
    await scenario.heal()
  })

  it('that the group elected is primary by the record', async () => {
    const scenario = await begin()
    const { primary } = scenario
    primary.mysqld?.die()
    await scenario.until('the record names another one', () => scenario.primary !== primary, 30_000)
    await scenario.heal()
  })

  it('that has transactions of a hand comes back only as a copy of another', async () => {
    const scenario = await begin()
    const { cluster } = scenario
    const member = scenario.machine(2)
    cluster.killAgent(member)
    member.mysqld?.die()
    member.startMysqld()
    await scenario.until('its server is up', () => member.mysqld?.isUp === true)
    const written = member.mysqld?.commitNew(false, () => undefined)
    await scenario.heal()
    await scenario.until('what the hand wrote is archived', () => member.archived.length > 0)
    expect(member.archived.join()).toContain(written?.gtid.toString() ?? 'nothing')
  })

  it('that was elected and is behind is opened again only once it has applied what it received', async () => {
    const scenario = await begin()
    const { cluster, primary } = scenario
    const others = cluster.machines.filter((machine) => machine !== primary)
    for (const other of others) scenario.holdApplier(other)
    await scenario.writeAcknowledged()
    await scenario.goOn(200)
    scenario.kill(primary)
    await scenario.until('the group has elected another one', () => scenario.primary !== primary, 30_000)
    const [one, other] = others.map(({ name }) => name)
    cluster.network.separate(one ?? '', other ?? '')
    await scenario.goOn(14_000)
    cluster.network.join(one ?? '', other ?? '')
    await scenario.goOn(4_000)
    await scenario.heal()
  })

  it('that was removed, and alone is heard, is not followed by the record: a later view is known', async () => {
    const scenario = await begin()
    const { cluster, primary } = scenario
    const others = ['shop-1', 'shop-2']
    scenario.cutOff(primary, [...others, 'manager-0', 'manager-1'])
    await scenario.until('another one leads', () => scenario.primary !== primary, 30_000)
    const { primary: elected } = scenario
    await scenario.goOn(1_000)
    for (const name of others) scenario.cutOffFromManagers(cluster.machine(name))
    for (const name of others) cluster.network.join(primary.name, name)
    scenario.joinManagers(primary)
    await scenario.goOn(3_000)
    expect(scenario.primary).toBe(elected)
    await scenario.heal()
  })
})
