import { orders } from '#failover/protocol/order.ts'
import { describe, expect, it } from 'vitest'
import { Scenario } from '../scenario.ts'

/** Five members, and who is told to have somebody removed. */
async function withOrders() {
  const scenario = await Scenario.begin({ instances: 5, spec: { mode: 'group' } })
  const told: string[] = []
  scenario.cluster.onHappening((happening) => {
    if (happening.kind === 'ordered' && happening.path === orders.expel.route) told.push(happening.machine.name)
  })
  await scenario.goOn(3_000)
  return { scenario, told }
}

describe('A member that its managers do not hear', () => {
  it('is not removed where one of the witnesses hears its server', async () => {
    const { scenario, told } = await withOrders()
    scenario.cutOff(scenario.machine(4), ['manager-0', 'manager-1', 'shop-0'])
    await scenario.goOn(3_500)
    expect(told).toEqual([])
    await scenario.heal()
  })

  it('is not removed where those who do not hear its server are no majority', async () => {
    const { scenario, told } = await withOrders()
    for (const ordinal of [1, 2, 3]) scenario.cutOffFromManagers(scenario.machine(ordinal))
    scenario.cutOff(scenario.machine(4), ['manager-0', 'manager-1', 'shop-0'])
    await scenario.goOn(3_500)
    expect(told).toEqual([])
    await scenario.heal()
  })

  it('is not removed by a witness that hears its server, whatever the order says', async () => {
    const { scenario } = await withOrders()
    const [witness, heard] = [scenario.machine(1), scenario.machine(4)]
    const silent = { instance: heard.name, host: heard.host, port: 3306, agent: `${heard.host}:9400` }
    const order = { ...scenario.orderFor(witness), silent }
    expect(await scenario.late(witness, orders.expel.route, order)).toBe('REGENT_ORDER_NOT_ALLOWED')
    await scenario.heal()
  })
})
