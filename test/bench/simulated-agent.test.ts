import { beforeAll, describe, expect, it } from 'vitest'
import { assignmentOrders } from '#failover/steps/assignments.ts'
import { orders } from '#failover/protocol/order.ts'
import { aRecord, aSituation, shop0 } from '#failover/testing.ts'
import { issueAuthority, issueLeaf } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import type { TlsMaterial } from '#common/tls/tls.ts'
import { SimulatedAgent } from './simulated-agent.ts'

const names = ['shop-0', 'shop-1', 'shop-2'] as const
let certificates: TlsMaterial

beforeAll(async () => {
  const moment = { wallMs: Date.now(), random: realRandom }
  const authority = await issueAuthority(86_400_000, moment)
  const wish = {
    dns: ['agent.shop.shops.regent'],
    purposes: ['server', 'client'] as const,
    validMs: 86_400_000,
  }
  certificates = { ...(await issueLeaf(authority, wish, moment)), ca: authority.cert }
})

/** Agents that nobody connects to, what a manager orders given what they show, and these orders carried out. */
function aCluster() {
  const place = { cluster: 'shop', port: 9400, token: 'token' }
  const agents = new Map<string, { readonly host: string; readonly one: SimulatedAgent }>()
  for (const [at, instance] of names.entries()) {
    const host = `10.251.0.${at + 1}`
    agents.set(instance, { host, one: new SimulatedAgent({ ...place, instance, host, certificates }) })
  }
  const [primary = shop0, ...syncSet] = [...agents.values()].map(({ one }) => one.observation().member)
  const wanted = () => {
    const instances = [...agents].map(([name, { host, one }]) => ({
      ...{ name, host, port: 3306, agent: `${host}:${place.port}` },
      ...{ observation: one.observation(), heardAtMs: 1_100, reachable: true },
    }))
    return assignmentOrders(aSituation({ snapshot: { instances }, record: aRecord({ primary, syncSet }) })).flatMap(
      (action) => (action.kind === 'assign' ? [action] : []),
    )
  }
  const obey = async (): Promise<void> => {
    for (const { to, order } of wanted()) await agents.get(to)?.one.orders.get(orders.assign.route)?.(order)
  }
  return { agents, wanted, obey }
}

describe('simulated agents', () => {
  it('are told what they are and then nothing more: orders that come again and again are work that no cluster is', async () => {
    const { agents, wanted, obey } = aCluster()
    expect(wanted().map(({ to }) => to)).toContain('shop-0')
    for (let round = 0; round < names.length; round += 1) await obey()
    expect(wanted()).toEqual([])
    expect([...agents.values()].map(({ one }) => one.isPrimary())).toEqual([true, false, false])
  })
})
