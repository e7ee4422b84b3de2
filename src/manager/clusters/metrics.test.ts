import { describe, expect, it } from 'vitest'
import { shop, shopInstance } from '../api/testing.ts'
import { createMetrics } from './metrics.ts'

async function lines(metrics: ReturnType<typeof createMetrics>): Promise<readonly string[]> {
  return (await metrics.text()).split('\n')
}

describe('the metrics', () => {
  it('show the state of every cluster and instance', async () => {
    const metrics = createMetrics()
    metrics.collect([shop], true)
    expect(await lines(metrics)).toEqual(
      expect.arrayContaining([
        'regent_leader 1',
        'regent_epoch{cluster="shop"} 4',
        'regent_writable{cluster="shop"} 1',
        'regent_sync_set_size{cluster="shop"} 2',
        'regent_acks{cluster="shop"} 1',
        'regent_cluster_condition{cluster="shop",condition="primaryWell"} 1',
        'regent_instance_role{cluster="shop",instance="shop-0",role="primary"} 1',
        'regent_replica_lag_seconds{cluster="shop",instance="shop-1"} 0.25',
      ]),
    )
  })

  it('name the condition of a cluster, and none for a manager that decides nothing', async () => {
    const metrics = createMetrics()
    metrics.collect([{ ...shop, condition: 'primaryDead' }], true)
    expect((await lines(metrics)).filter((line) => line.startsWith('regent_cluster_condition'))).toEqual([
      'regent_cluster_condition{cluster="shop",condition="primaryDead"} 1',
    ])
    metrics.collect([{ ...shop, condition: null }], false)
    expect(await metrics.text()).not.toContain('regent_cluster_condition{')
  })

  it('say that nobody knows whether writes are taken, and neither yes nor no', async () => {
    const metrics = createMetrics()
    metrics.collect([shop], true)
    expect(await lines(metrics)).toContain('regent_writable_unknown{cluster="shop"} 0')
    metrics.collect([{ ...shop, writable: null, writableUnknown: { likely: true, sentence: '…' } }], true)
    expect(await lines(metrics)).toContain('regent_writable_unknown{cluster="shop"} 1')
    expect(await metrics.text()).not.toContain('regent_writable{')
  })

  it('show whose trouble is expected, for as long as it is, by the manager that leads', async () => {
    const metrics = createMetrics()
    const downtime = { untilWallMs: 1, reason: 'new disk', owner: '' }
    metrics.collect([{ ...shop, instances: [shopInstance(0), shopInstance(1, { downtime })] }], true)
    expect((await lines(metrics)).filter((line) => line.startsWith('regent_instance_downtime'))).toEqual([
      'regent_instance_downtime{cluster="shop",instance="shop-1"} 1',
    ])
    for (const [views, leads] of [
      [[shop], true],
      [[{ ...shop, instances: [shopInstance(1, { downtime })] }], false],
    ] as const) {
      metrics.collect(views, leads)
      expect(await metrics.text()).not.toContain('regent_instance_downtime{')
    }
  })

  it('tell clusters of one name by their namespaces', async () => {
    const metrics = createMetrics()
    metrics.collect(
      [
        { ...shop, name: 'shops.shop' },
        { ...shop, name: 'carts.shop', epoch: 7 },
      ],
      true,
    )
    metrics.decided('carts.shop', 'commit')
    metrics.recovered('carts.shop', { kind: 'failover', outcome: 'succeeded' })
    metrics.outage('carts.shop', 'failover', 87)
    expect(await lines(metrics)).toEqual(
      expect.arrayContaining([
        'regent_epoch{namespace="shops",cluster="shop"} 4',
        'regent_epoch{namespace="carts",cluster="shop"} 7',
        'regent_instance_role{namespace="carts",cluster="shop",instance="shop-0",role="primary"} 1',
        'regent_replica_lag_seconds{namespace="carts",cluster="shop",instance="shop-1"} 0.25',
        'regent_decisions_total{namespace="carts",cluster="shop",kind="commit"} 1',
        'regent_recoveries_total{namespace="carts",cluster="shop",kind="failover",outcome="succeeded"} 1',
        'regent_outage_seconds_count{namespace="carts",cluster="shop",kind="failover"} 1',
      ]),
    )
  })

  it('forget instances and clusters that are gone, and roles that changed', async () => {
    const metrics = createMetrics()
    metrics.collect([shop, { ...shop, name: 'old' }], true)
    metrics.collect([{ ...shop, writable: false, instances: [shopInstance(0, { role: 'replica' })] }], false)
    const text = await metrics.text()
    expect(text).toContain('regent_leader 0')
    expect(text).toContain('regent_writable{cluster="shop"} 0')
    expect(text).not.toContain('cluster="old"')
    expect(text).not.toContain('role="primary"')
    expect(text).not.toContain('regent_replica_lag_seconds{')
  })

  it('forget what was counted of clusters that are gone, and of no other', async () => {
    const metrics = createMetrics()
    for (const name of ['shop', 'old']) {
      metrics.decided(name, 'commit')
      metrics.recovered(name, { kind: 'failover', outcome: 'succeeded' })
      metrics.outage(name, 'failover', 87)
      metrics.hookEnded(name, { moment: 'detected', state: 'succeeded', ms: 12 })
    }
    metrics.collect([shop], true)
    expect((await lines(metrics)).filter((line) => line.includes('cluster="old"'))).toEqual([])
    expect(await lines(metrics)).toContain('regent_decisions_total{cluster="shop",kind="commit"} 1')
    metrics.decided('old', 'commit')
    expect(await lines(metrics)).toContain('regent_decisions_total{cluster="old",kind="commit"} 1')
  })

  it('count decisions, recoveries, outages and round trips, in seconds', async () => {
    const metrics = createMetrics()
    metrics.decided('shop', 'commit')
    metrics.decided('shop', 'commit')
    metrics.recovered('shop', { kind: 'failover', outcome: 'succeeded' })
    metrics.outage('shop', 'failover', 87)
    metrics.agentAnswered('promise', 3)
    expect(await lines(metrics)).toEqual(
      expect.arrayContaining([
        'regent_decisions_total{cluster="shop",kind="commit"} 2',
        'regent_recoveries_total{cluster="shop",kind="failover",outcome="succeeded"} 1',
        'regent_outage_seconds_bucket{le="0.05",cluster="shop",kind="failover"} 0',
        'regent_outage_seconds_bucket{le="0.1",cluster="shop",kind="failover"} 1',
        'regent_agent_round_trip_seconds_sum{order="promise"} 0.003',
      ]),
    )
  })

  it('are of one manager each, and include the process', async () => {
    const first = createMetrics()
    first.decided('shop', 'commit')
    const second = await createMetrics().text()
    expect(second).not.toContain('regent_decisions_total{')
    expect(second).toContain('process_resident_memory_bytes')
  })
})
