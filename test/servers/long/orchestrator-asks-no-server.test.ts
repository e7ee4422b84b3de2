import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'

/** Each shows something of servers; orchestrator itself has polled the servers for that. */
const routes = [
  ...['all-instances', 'clusters-info', 'masters', 'master/shop', 'cluster/shop', 'topology/shop', 'problems'],
  ...['instance/shop-1/3306', 'instance-replicas/shop-0/3306', 'replication-analysis', 'discover/shop-1/3306'],
]
const instances = ['shop-0', 'shop-1', 'shop-2']
const turns = 60
const connections = `SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Connections'`

describe('What orchestrator’s interface shows of a cluster', () => {
  let port = 0
  beforeAll(async () => {
    port = await freePort()
  })
  const shop = withCluster(() => ({
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))

  it('comes from what agents stream: servers see no session for it', async () => {
    const cluster = shop.current
    await cluster.whole()
    const seen = () => Promise.all(instances.map(async (name) => Number(await cluster.value(name, connections))))
    const before = await seen()
    for (let turn = 0; turn < turns; turn += 1)
      for (const route of routes) {
        const answer = await fetch(`http://127.0.0.1:${port}/api/${route}`)
        expect([route, answer.status]).toEqual([route, 200])
        await answer.text()
      }
    const more = (await seen()).map((count, at) => count - (before[at] ?? 0))
    // An agent makes a session of its own every few seconds, to see whether its server still takes sessions.
    expect(Math.max(...more)).toBeLessThan(turns)
  })
})
