import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { hasSocketAt } from '#test/support/socket-owner.ts'
import { Strangers } from '#test/support/strangers.ts'

describe('Three servers reached by SSH and SQL, whose loss is accepted', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ roads: true, sqlRoads: true, failover: { acceptLoss: 'always' } })
    cluster = await strangers.manage()
  })
  afterAll(() => strangers.end())

  it('keep their primary while both roads of the manager to it are cut, and replicas hear it', async () => {
    await cluster.whole()
    const { road, sqlRoad, address } = strangers.hostOf('shop-0')
    const replicas = strangers.hosts.filter((host) => host.address !== address)
    const pids = await Promise.all(replicas.map((host) => host.pid()))
    sqlRoad?.close((port) => !pids.some((pid) => hasSocketAt(pid, port)))
    road?.close()
    await cluster.until('it is seen', async () => {
      const { sentence } = await cluster.view()
      return sentence.includes('still hear its server')
    })
    for (const host of replicas)
      expect(await host.sql('SELECT SERVICE_STATE AS s FROM performance_schema.replication_connection_status')).toEqual(
        [{ s: 'ON' }],
      )
    road?.mend()
    sqlRoad?.mend()
    await cluster.whole()
    expect(await cluster.primary()).toBe('shop-0')
    expect((await cluster.recoveries()).filter(({ kind }) => kind === 'failover')).toEqual([])
  })
})
