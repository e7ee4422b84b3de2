import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { notReady, PerconaOperator } from '#test/support/percona-operator.ts'
import { freePort } from '#test/support/free-port.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const owner = 'percona-server-mysql-operator'
const noRaft = /not running with raft setup/
const hands = 'what Regent keeps is refused, with what to call instead'

/** Flows of the operator, in their order, with each call of that; then what the servers say. */
describe.each(['semisync', 'group'] as const)('Percona’s operator asks for a cluster in mode %s', (mode) => {
  let port = 0
  let operator: PerconaOperator
  beforeAll(async () => {
    port = await freePort()
    operator = new PerconaOperator(port)
  })
  const shop = withCluster(() => ({
    spec: { mode },
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))
  const portOf = async (name: string): Promise<number> => (await operator.instance(name, 3306))?.Key.Port ?? 0
  const flags = async (name: string) =>
    shop.current.sql(name, 'SELECT @@read_only AS closed, @@offline_mode AS offline')

  it('at the start: probes, discovery, the primary, and every server without a problem', async () => {
    await shop.current.whole()
    for (const probe of ['api/lb-check', 'api/health', 'api/leader-check'])
      expect([probe, await operator.status(probe)]).toEqual([probe, 200])
    expect(await operator.call('raft-leader')).toMatch(noRaft)
    for (const name of ['shop-0', 'shop-1', 'shop-2']) {
      expect((await operator.instance(name, 3306))?.InstanceAlias).toBe(name)
      expect(await operator.call(`discover/${name}/3306`)).toBe('')
    }
    expect(await operator.call('discover/shop-9/3306')).toMatch(/Cannot read instance: shop-9:3306/)
    const primary = await operator.clusterPrimary('shop')
    expect(primary).toMatchObject({ InstanceAlias: 'shop-0', ReadOnly: false, Key: { Hostname: 'shop-0' } })
    expect(primary?.Replicas.map(({ Hostname }) => Hostname)).toEqual(mode === 'group' ? [] : ['shop-1', 'shop-2'])
    expect(await operator.clusterPrimary('nobody')).toBeUndefined()
    expect(await operator.call(`set-writeable/shop-0/${primary?.Key.Port}`)).toBe('')
    expect((await operator.cluster('shop')).map(({ InstanceAlias }) => InstanceAlias)).toEqual([
      'shop-0',
      'shop-1',
      'shop-2',
    ])
    await expect(operator.cluster('nobody')).rejects.toThrow('Unable to determine cluster name')
    expect(await operator.problems('shop')).toBe('')
    expect(await operator.call('raft-add-peer/10.0.0.1')).toMatch(noRaft)
    expect(await operator.call('raft-remove-peer/10.0.0.1')).toMatch(noRaft)
  })

  it('for a switchover: downtime, a takeover, and the new primary takes writes while nothing is lost', async () => {
    const writer = await Writer.start(shop.current)
    expect(await operator.call(`begin-downtime/shop-0/3306/${owner}/graceful-switchover/40s`)).toBe('')
    const to = { host: 'shop-1', port: await portOf('shop-1') }
    expect(await operator.ensurePrimary('shop', 'shop-1', to)).toBe('')
    await until(async () => {
      const primary = await operator.clusterPrimary('shop')
      return primary?.InstanceAlias === 'shop-1' && !primary.ReadOnly
    }, 'the new primary is shown')
    expect(await flags('shop-1')).toEqual([{ closed: 0, offline: 0 }])
    expect(await operator.call('end-downtime/shop-0/3306')).toBe('')
    await shop.current.whole()
    expect(await flags('shop-0')).toEqual([{ closed: 1, offline: 0 }])
    // The operator asks again with each of its rounds.
    const before = operator.asked.length
    expect(await operator.ensurePrimary('shop', 'shop-1', to)).toBe('')
    expect(operator.asked.slice(before)).toEqual(['master/shop'])
    await writer.next()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
    expect(await operator.problems('shop')).toBe('')
  })

  it('for a backup: the source is in downtime meanwhile, and is no primary by itself', async () => {
    expect((await operator.instance('shop-2', 3306))?.IsDowntimed).toBe(false)
    expect(await operator.call(`begin-downtime/shop-2/3306/${owner}/ps-backup-one/600s`)).toBe('')
    const source = await operator.instance('shop-2', 3306)
    expect(source).toMatchObject({ IsDowntimed: true, DowntimeOwner: owner, DowntimeReason: 'ps-backup-one' })
    const leftMs = Date.parse(`${source?.DowntimeEndTimestamp.replace(' ', 'T')}Z`) - Date.now()
    expect(leftMs).toBeGreaterThan(540_000)
    expect(leftMs).toBeLessThan(601_000)
    expect(await operator.call('end-downtime/shop-2/3306')).toBe('')
    expect((await operator.instance('shop-2', 3306))?.IsDowntimed).toBe(false)
  })

  it(`for a change of passwords: ${hands}`, async () => {
    const replica = await operator.instance('shop-2', 3306)
    const stopped = await operator.call(`stop-replica/shop-2/${replica?.Key.Port}`)
    expect(stopped).toMatch(/stop-replica: refused for shop-2:\d+, which Regent manages in shop: .*regent fence/)
    const started = await operator.call(`start-replica/shop-2/${replica?.Key.Port}`)
    if (mode === 'semisync') expect(started).toBe('')
    else expect(started).toMatch(/refused for shop-2:\d+, which Regent manages in shop/)
    expect(await operator.call(`set-writeable/shop-2/${replica?.Key.Port}`)).toMatch(/refused for shop-2/)
    expect(await flags('shop-2')).toEqual([{ closed: 1, offline: 0 }])
  })

  it('for a crash: another primary is shown, the lost one has a problem until it is back', async () => {
    const writer = await Writer.start(shop.current)
    await shop.current.fault('shop-1', 'kill')
    await until(async () => {
      const primary = await operator.clusterPrimary('shop')
      return primary !== undefined && primary.InstanceAlias !== 'shop-1' && !primary.ReadOnly
    }, 'another primary is shown')
    await until(async () => (await operator.problems('shop')).includes('shop-1: ['), 'the problem is told')
    expect(await operator.call(`begin-downtime/shop-1/3306/${owner}/crash/600s`)).toBe('')
    expect(await operator.problems('shop')).not.toContain('shop-1')
    await shop.current.fault('shop-1', 'start')
    await shop.current.whole()
    expect(await operator.call('end-downtime/shop-1/3306')).toBe('')
    await until(async () => (await operator.problems('shop')) === '', 'nothing is wrong any more')
    await writer.next()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
  })

  it('for a scale-in: the first pod leads, and who left is forgotten, the primary never', async () => {
    expect(await operator.ensurePrimary('shop', 'shop-0', { host: 'shop-0', port: await portOf('shop-0') })).toBe('')
    await shop.current.whole()
    const replica = await portOf('shop-2')
    expect(await operator.call(`forget/shop-0/${await portOf('shop-0')}`)).toMatch(/shop-0:\d+ is the primary of shop/)
    expect(await operator.call(`forget/shop-2/${replica}`)).toBe('')
    expect((await operator.cluster('shop')).map(({ InstanceAlias }) => InstanceAlias)).toEqual(['shop-0', 'shop-1'])
    expect(await operator.instance('shop-2', replica)).toBeUndefined()
    expect(await operator.call(`discover/shop-2/${replica}`)).toBe('')
    expect(await operator.cluster('shop')).toHaveLength(3)
    expect((await shop.current.view()).instances).toHaveLength(3)
  })
})

describe('Percona’s operator asks for a tree that is watched', () => {
  let trees: WatchedTrees
  let operator: PerconaOperator
  beforeAll(async () => {
    trees = await WatchedTrees.start({ shop: [null, 0, 0], till: [null] })
    await trees.adopt('shop', trees.listen)
    await trees.adopt('till')
    await trees.allow()
    operator = new PerconaOperator(trees.orchestratorPort)
    await until(
      async () => (await operator.cluster('shop')).length === 3 && (await operator.problems('shop')) === '',
      'all servers are seen, and nothing is wrong',
    )
  })
  afterAll(async () => trees.end())

  const path = (name: string) => trees.key(name).replace(':', '/')
  const closed = async (name: string) => (await trees.at(name).sql('SELECT @@read_only AS closed'))[0]?.['closed']

  it.each(['shop-1', 'till-0'])(
    'at the start: %s is discovered by a name that Regent has not heard, as by the Service of the pods',
    async (name) => {
      const { host, port } = trees.at(name)
      // A name for the resolver of this machine: the address as one number.
      const number = host.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
      expect(await trees.ask(`discover/${number}/${port}`)).toMatchObject({
        Code: 'OK',
        Details: { InstanceAlias: name, Key: { Hostname: host, Port: port } },
      })
      expect(await trees.ask('clusters')).toEqual([trees.key('shop-0'), trees.key('till-0')])
      expect(await operator.cluster('shop')).toHaveLength(3)
    },
  )

  it('at the start: a server that is not there yet is none that the operator gives up', async () => {
    expect(await operator.call('discover/nobody.invalid/3306')).toMatch(notReady)
  })

  it('for a switchover: the target leads, and the others follow', async () => {
    const { host, port } = trees.at('shop-1')
    expect(await operator.call(`begin-downtime/${path('shop-0')}/${owner}/graceful-switchover/40s`)).toBe('')
    expect(await operator.ensurePrimary('shop', 'shop-1', { host, port })).toBe('')
    await until(async () => (await operator.clusterPrimary('shop'))?.InstanceAlias === 'shop-1', 'the target is shown')
    expect([await closed('shop-1'), await closed('shop-0')]).toEqual([0, 1])
    expect(await operator.call(`end-downtime/${path('shop-0')}`)).toBe('')
    await trees.spreads('shop-1', 'shop-0', 'shop-2')
  })

  it('for a change of passwords: replicas stop and start', async () => {
    expect(await operator.call(`stop-replica/${path('shop-2')}`)).toBe('')
    expect((await trees.at('shop-2').sql('SHOW REPLICA STATUS'))[0]).toMatchObject({ Replica_IO_Running: 'No' })
    expect(await operator.problems('shop')).toBe('shop-2: [not_replicating]')
    expect(await operator.call(`start-replica/${path('shop-2')}`)).toBe('')
    await trees.spreads('shop-1', 'shop-0', 'shop-2')
    expect(await operator.call(`set-writeable/${path('shop-2')}`)).toBe('')
    expect(await closed('shop-2')).toBe(0)
    await trees.at('shop-2').sql('SET GLOBAL read_only = ON')
  })

  it('for a scale-in: who stopped is forgotten, who leads never', async () => {
    expect(await operator.call(`stop-replica/${path('shop-2')}`)).toBe('')
    expect(await operator.call(`forget/${path('shop-2')}`)).toBe('')
    expect((await operator.cluster('shop')).map(({ InstanceAlias }) => InstanceAlias)).toEqual(['shop-0', 'shop-1'])
    expect(await operator.call(`forget/${path('shop-1')}`)).toMatch(/leads shop/)
  })
})
