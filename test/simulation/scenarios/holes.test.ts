import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import { emptyVolume } from '../machine.ts'
import { heldBy } from '../rules.ts'
import { Scenario } from '../scenario.ts'

/** Nobody is copied who lacks as little as here: whoever comes back reads the binlogs. */
const spec = { cloneAboveTransactions: 1_000 }

async function leadBy(scenario: Scenario, ordinal: number): Promise<void> {
  const to = scenario.machine(ordinal)
  scenario.askForSwitchover(to)
  await scenario.until(`${to.name} leads`, () => scenario.primary === to && to.mysqld?.mayWrite === true)
  await scenario.until('all count', () => scenario.syncSet.length === scenario.cluster.machines.length - 1)
}

describe('An instance that was primary and comes back on an empty volume', () => {
  it('is sent what it wrote itself, and passes over nothing of that', async () => {
    const scenario = await Scenario.begin({ instances: 3, spec })
    const former = scenario.primary
    const gone = scenario.record.primary
    await scenario.writeAcknowledged()
    await scenario.writeAcknowledged()
    await leadBy(scenario, 1)
    scenario.say(`the volume of ${former.name} is lost`)
    scenario.cluster.putVolume(former, emptyVolume)
    scenario.cluster.startAgent(former)
    await scenario.writeAcknowledged()
    const counts = () => scenario.syncSet.includes(former.name) && !scenario.record.syncSet.includes(gone)
    await scenario.until('its new member counts', counts)
    expect(heldBy(former).contains(scenario.acknowledged)).toBe(true)
    // It read the binlogs, and is no copy that was made once it was found to be passed over.
    expect(former.folder?.copied.isEmpty()).toBe(true)
    await scenario.heal()
  })
})

describe('A replica that counts and is passed over, by what a hand wrote with its server_id,', () => {
  it('acknowledges nothing more once it is told, although its primary goes on counting it', async () => {
    const scenario = await Scenario.begin({ instances: 3, spec })
    const { primary, cluster } = scenario
    const replica = scenario.machine(1)
    const { serverId } = replica.folder ?? { serverId: 0 }
    cluster.held.wanted = ({ to, path }) => to === primary.name && path === orders.assign.route
    scenario.say(`a hand writes at ${primary.name} with the server_id of ${replica.name}`)
    primary.mysqld?.commitTogether([{ isOwn: false, answer: () => undefined, serverId }])
    const told = () => cluster.observation(replica.name)?.stored.assignment?.passedOver === true
    await scenario.until('it is told', told)
    await scenario.goOn(100)
    cluster.network.separate(primary.name, 'shop-2')
    const write = scenario.write()
    await scenario.goOn(1_000)
    expect(write.answer).toBe('waits')
    await scenario.heal()
  })

  it.each([2, 3])('of %i instances, is a copy soon, and counts with everything', async (instances) => {
    const scenario = await Scenario.begin({ instances, spec })
    const { primary } = scenario
    const replica = scenario.machine(1)
    const { serverId, uuid } = replica.folder ?? { serverId: 0, uuid: '' }
    scenario.say(`a hand writes at ${primary.name} with the server_id of ${replica.name}`)
    const [written] = primary.mysqld?.commitTogether([{ isOwn: false, answer: () => undefined, serverId }]) ?? []
    await scenario.goOn(200)
    const isHeld = () => written !== undefined && replica.folder?.executed.contains(written.gtid) === true
    expect(isHeld()).toBe(false)
    await scenario.until(`${replica.name} is a copy`, () => replica.folder?.uuid !== uuid && isHeld())
    await scenario.heal()
    expect(isHeld()).toBe(true)
  })
})
