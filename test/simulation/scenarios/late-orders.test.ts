import { orders } from '#failover/protocol/order.ts'
import { words } from '#failover/protocol/word.ts'
import { describe, expect, it } from 'vitest'
import { emptyVolume, type Machine } from '../machine.ts'
import { Scenario } from '../scenario.ts'

/** What the manager tells one instance to be, as it was sent last. */
function lastAssignments(scenario: Scenario, to: Machine): () => object {
  const { held } = scenario.cluster
  held.copied = (letter) => letter.to === to.name && letter.path === orders.assign.route
  return () => held.all.at(-1)?.body as object
}

async function switchOver(scenario: Scenario, to: Machine): Promise<void> {
  scenario.askForSwitchover(to)
  await scenario.until(`${to.name} takes writes`, () => scenario.primary === to && to.mysqld?.mayWrite === true)
  await scenario.goOn(500)
}

/** A promise that nothing is waited for. */
const atOnce = { after: '', waitMs: 0 } as const

describe('An order that is late is refused:', () => {
  it('the confirmation of a lease of an earlier epoch, whatever number its question had', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster, primary } = scenario
    const confirmation = scenario.orderFor(primary)
    await switchOver(scenario, scenario.machine(1))
    await switchOver(scenario, primary)
    scenario.manager.life.freeze()
    scenario.cutOff(primary, ['shop-1', 'shop-2'])
    const untilMs = cluster.time.nowMs + 2 * cluster.timings.leaseMs
    while (cluster.time.nowMs < untilMs) {
      const question = cluster.observation(primary.name)?.lease?.question ?? 0
      await scenario.late(primary, words.lease.route, { ...confirmation, question })
      await scenario.goOn(300)
    }
    expect(primary.mysqld?.mayWrite ?? false).toBe(false)
    await scenario.heal()
  })

  it('an assignment of who lived on a volume that is gone', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster } = scenario
    const replica = scenario.machine(1)
    const assignment = lastAssignments(scenario, replica)
    cluster.killAgent(replica)
    cluster.startAgent(replica)
    await scenario.until('it is told what it is', () => assignment() !== undefined)
    const { run: _, ...late } = assignment() as { readonly run?: string }
    for (const index of cluster.managers.keys()) cluster.killManager(index)
    cluster.putVolume(replica, emptyVolume)
    cluster.startAgent(replica)
    await scenario.goOn(2_000)
    expect(await scenario.late(replica, orders.assign.route, late)).toBe('REGENT_WRONG_MEMBER')
    await scenario.heal()
  })

  it('an assignment while a copy takes the place of what is there', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster } = scenario
    const replica = scenario.machine(1)
    const assignment = lastAssignments(scenario, replica)
    replica.mysqld?.commitNew(false, () => undefined)
    const isSeeded = (): boolean => cluster.observation(replica.name)?.stored.seeding === true
    await scenario.until('it is seeded again', isSeeded)
    const late = { ...assignment(), ...scenario.orderFor(replica) }
    expect(await scenario.late(replica, orders.assign.route, late)).toBe('REGENT_ORDER_NOT_ALLOWED')
    await scenario.heal()
  })

  it('the removal of a silent member by the manager of another epoch', async () => {
    const scenario = await Scenario.begin({ instances: 3, spec: { mode: 'group' } })
    const { cluster } = scenario
    const silent = scenario.machine(2)
    await scenario.goOn(3_000)
    cluster.held.wanted = ({ path }) => path === orders.expel.route
    scenario.cutOff(silent, ['shop-0', 'shop-1', 'manager-0', 'manager-1'])
    await scenario.until('its removal is ordered', () => cluster.held.all.length > 0)
    const [letter] = cluster.held.all
    const order = letter?.body as object
    const witness = cluster.machine(letter?.to ?? '')
    const late = { ...order, ...scenario.orderFor(witness), epoch: scenario.record.epoch + 1 }
    expect(await scenario.late(witness, orders.expel.route, late)).toBe('REGENT_ORDER_NOT_ALLOWED')
    await scenario.heal()
  })
})

describe('A promise', () => {
  it('is reported by a primary once its server is dead', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { primary } = scenario
    const { mysqld } = primary
    const order = { ...scenario.orderFor(primary), epoch: 2, ...atOnce }
    expect(await scenario.late(primary, orders.promise.route, order)).toBe('')
    expect(mysqld?.state).toBe('dead')
    await scenario.heal()
  })

  it('of an instance that is being seeded names nothing that it holds', async () => {
    const scenario = await Scenario.begin({ instances: 3 })
    const { cluster } = scenario
    const replica = scenario.machine(1)
    replica.mysqld?.commitNew(false, () => undefined)
    const said = () => cluster.observation(replica.name)
    await scenario.until('it is seeded again', () => said()?.stored.seeding === true)
    const order = { ...scenario.orderFor(replica), epoch: 2, ...atOnce }
    expect(await scenario.late(replica, orders.promise.route, order)).toBe('')
    expect(said()?.promiseReport?.holds).toBe('')
    await scenario.heal()
  })
})
