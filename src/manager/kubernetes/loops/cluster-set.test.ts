import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { commonLabels, namesOf } from '#kube/names/names.ts'
import { endpointSlices, managedBy, serviceName, type EndpointSlice } from '#kube/primary/primary-endpoints.ts'
import type { Secret } from '#kube/secrets/secrets.ts'
import type { Pod, StatefulSet } from '#kube/pods/stateful-set.ts'
import { aCluster } from '#kube/testing.ts'
import { aRecord } from '#failover/testing.ts'
import { kubeStore } from '#store/kube.ts'
import { createMetrics } from '#manager/clusters/metrics.ts'
import { ClusterSet } from './cluster-set.ts'

const key = { namespace: 'shops', name: 'shop' }
const cluster = (spec: object = {}, metadata: object = {}) =>
  aCluster({ instances: 3, ...spec }, { generation: 1, ...metadata })

/** Clusters without instances: nothing is connected to. */
function clusters({ leads = false }: { leads?: boolean } = {}) {
  const world = virtualWorld()
  const client = new ScriptedClient()
  const pods = testingInformer<Pod>('pods')
  const statefulSets = testingInformer<StatefulSet>('statefulsets')
  const slices = testingInformer<EndpointSlice>('endpointslices')
  const records = testingInformer<ConfigMap>('configmaps')
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    name: 'manager',
    destination: { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
  })
  const leading = { now: leads }
  const set = new ClusterSet({
    ...{ world, client, pods, statefulSets, slices, log },
    configMaps: records,
    secrets: testingInformer<Secret>('secrets'),
    manager: 'm1',
    metrics: createMetrics(),
    leads: () => leading.now,
  })
  onTestFinished(() => set.removeAll())
  return { world, client, pods, statefulSets, slices, records, lines, leading, set }
}

function aSlice(host: string): EndpointSlice {
  const conditions = { ready: true, serving: true, terminating: false }
  const labels = { ...commonLabels('shop'), [serviceName]: 'shop-primary', [managedBy]: 'regent.dev' }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...key, name: 'shop-primary', labels, annotations: { 'regent.dev/epoch': '1' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [host], conditions, targetRef: { kind: 'Pod', namespace: 'shops', name: 'shop-0' } }],
    ports: [{ name: 'mysql', port: 3306, protocol: 'TCP' }],
  }
}

describe('the loops of all clusters', () => {
  it('are one for each cluster, named with its namespace', async () => {
    const { set } = clusters()
    const first = await set.ensure(cluster(), 'token')
    expect(await set.ensure(cluster(), 'token')).toBe(first)
    const second = await set.ensure(cluster({}, { namespace: 'other' }), 'token')
    expect(set.all().map(({ name }) => name)).toEqual(['shops.shop', 'other.shop'])
    expect(set.get(key)).toBe(first)
    expect(set.get({ ...key, namespace: 'other' })).toBe(second)
  })

  it.each<[string, object, string]>([
    ['a cluster made anew under the same name', { uid: 'u2' }, 'token'],
    ['another token of its agents', {}, 'another token'],
  ])('are another one for %s', async (_what, metadata, token) => {
    const { set, pods, statefulSets } = clusters()
    const first = await set.ensure(cluster(), 'token')
    const told: string[] = []
    first.subscribe(({ type }) => told.push(type))
    expect(await set.ensure(cluster({}, metadata), token)).not.toBe(first)
    expect([set.all().length, pods.handlers, statefulSets.handlers]).toEqual([1, 1, 1])
    expect(told.at(-1), 'who watches it asks anew').toBe('gone')
  })

  it('are of one cluster, and of none that was made anew under its name', async () => {
    const { set } = clusters()
    const first = await set.ensure(cluster(), 'token')
    expect([set.of(cluster()), set.of(cluster({}, { uid: 'u2' }))]).toEqual([first, undefined])
  })

  it('know how many instances the record names as it is stored now, and none without a record', async () => {
    const { set, client } = clusters()
    expect(await set.recorded(key)).toBe(0)
    await set.ensure(cluster({ instances: 2 }), 'token')
    expect(await set.recorded(key)).toBe(0)
    const record = { ...aRecord({ primary: 'shop-0@volume-0', syncSet: ['shop-2@volume-2'] }), revision: 1 }
    await kubeStore(client, { namespace: 'shops' }).compareAndSwap('shop', 0, record)
    expect(await set.recorded(key)).toBe(3)
  })

  it('ask for no passwords once another manager leads: it may have gone on to others', async () => {
    const { set } = clusters()
    const { loop } = await set.ensure(cluster(), 'token')
    loop.addRequest({ kind: 'passwords', id: 'passwords', generation: 'a2', old: 'kept' })
    set.lead(false)
    expect(loop.input().requests).toEqual([])
  })

  it('are told of a changed spec', async () => {
    const { set } = clusters()
    const { loop } = await set.ensure(cluster(), 'token')
    await set.ensure(cluster({ instances: 5 }, { generation: 2 }), 'token')
    expect(loop.spec.instances).toBe(5)
  })

  it('keep the spec before where the next cannot be followed, and say so each time', async () => {
    const { set } = clusters()
    const { loop } = await set.ensure(cluster(), 'token')
    const nonsense = cluster({ instances: 5, primary: { never: ['other-0'] } }, { generation: 2 })
    for (let time = 0; time < 2; time += 1)
      await expect(set.ensure(nonsense, 'token')).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    expect(loop.spec.instances).toBe(3)
  })

  it('are not begun for a spec that cannot be followed, and leave nothing behind', async () => {
    const { set, pods } = clusters()
    await expect(set.ensure(cluster({ primary: { never: ['other-0'] } }), 'token')).rejects.toMatchObject({
      code: 'REGENT_BAD_REQUEST',
    })
    expect([set.all(), pods.handlers]).toEqual([[], 0])
  })

  it('lead as soon as this manager does, and no longer than it', async () => {
    const { set, world, leading } = clusters()
    const { loop } = await set.ensure(cluster(), 'token')
    await world.settle()
    expect(loop.leads).toBe(false)
    leading.now = true
    set.lead(true)
    await world.settle()
    expect(loop.leads).toBe(true)
    const later = await set.ensure(cluster({}, { namespace: 'other' }), 'token')
    await world.settle()
    expect(later.loop.leads).toBe(true)
    leading.now = false
    set.lead(false)
    await world.settle()
    expect([loop.leads, later.loop.leads]).toEqual([false, false])
  })

  it('try again to lead where the record could not be read: nothing else would tell them', async () => {
    const { set, world, client, lines } = clusters({ leads: true })
    client.before = (verb) => {
      if (verb === 'get') throw new Error('etcd is down')
    }
    const { loop } = await set.ensure(cluster(), 'token')
    await world.settle()
    expect(loop.leads).toBe(false)
    expect(lines.at(-1)).toMatch(/^taking the lead of shops.shop: .*etcd is down/)
    client.before = () => undefined
    await world.advance(500)
    expect(loop.leads).toBe(true)
  })

  it.each<[string, (all: ReturnType<typeof clusters>) => unknown]>([
    ['leadership was lost', ({ set, leading }) => ((leading.now = false), set.lead(false))],
    ['the cluster is gone', ({ set }) => set.remove(key)],
  ])('do not lead where %s while the record was being read', async (_what, happens) => {
    const all = clusters({ leads: true })
    const read = Promise.withResolvers<void>()
    all.client.before = (verb) => (verb === 'get' ? read.promise : undefined)
    const { loop } = await all.set.ensure(cluster(), 'token')
    await happens(all)
    read.resolve()
    await all.world.settle()
    expect(loop.leads).toBe(false)
  })

  it('hear of it when somebody else changes or deletes what they published', async () => {
    const { set, world, client, slices } = clusters({ leads: true })
    const { loop } = await set.ensure(cluster(), 'token')
    await world.settle()
    const published = aSlice('10.0.0.1')
    slices.put(await client.create(endpointSlices, published))
    await loop.reread()
    expect(loop.input().published?.host).toBe('10.0.0.1')
    slices.put(
      await client.patch(endpointSlices, { ...key, name: 'shop-primary' }, { endpoints: aSlice('10.9.9.9').endpoints }),
    )
    await world.settle()
    expect(loop.input().published?.host).toBe('10.9.9.9')
    await client.delete(endpointSlices, { ...key, name: 'shop-primary' })
    slices.delete(published)
    await world.settle()
    expect(loop.input().published).toBeUndefined()
  })

  it('hear of it when somebody else changes or deletes their record, and look at none of their own', async () => {
    const { set, world, client, records } = clusters({ leads: true })
    const { loop } = await set.ensure(cluster(), 'token')
    await world.settle()
    const name = namesOf('shop').record
    const record = {
      version: 1,
      cluster: 'shop',
      epoch: 4,
      revision: 7,
      primary: 'shop-0@v',
      syncSet: [],
      leaving: [],
      acks: 1,
      acksWanted: 1,
      intent: null,
    }
    const forged = await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...key, name },
      data: { revision: '7', text: JSON.stringify(record) },
    })
    records.put(forged)
    await world.advance(1_000)
    expect(loop.record).toMatchObject({ epoch: 4, revision: 7 })
    const read = vi.spyOn(client, 'get')
    records.put(forged)
    await world.advance(1_000)
    // There is no StatefulSet yet: that is looked for and written, for the instance which the record names.
    expect(read.mock.calls.map(([{ plural }]) => plural)).not.toContain(configMaps.plural)
    await client.delete(configMaps, { ...key, name })
    records.delete(forged)
    await world.advance(1_000)
    expect(loop.record).toBeUndefined()
  })

  it('end with their cluster: nothing is listened to any more, nothing waits', async () => {
    const { set, pods, statefulSets, slices, records, world, lines } = clusters({ leads: true })
    const { loop } = await set.ensure(cluster(), 'token')
    await world.settle()
    records.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key, name: namesOf('shop').record } })
    await set.remove(key)
    await set.remove(key)
    // A view that was planned already is shown to nobody.
    await world.advance(100)
    expect([
      set.all(),
      set.get(key),
      loop.leads,
      pods.handlers,
      statefulSets.handlers,
      slices.handlers,
      records.handlers,
      world.pending,
    ]).toEqual([[], undefined, false, 0, 0, 0, 0, 0])
    expect(lines.filter((line) => line === 'shops.shop is managed no longer')).toHaveLength(1)
  })

  it('all end with their manager', async () => {
    const { set, pods } = clusters()
    await set.ensure(cluster(), 'token')
    await set.ensure(cluster({}, { namespace: 'other' }), 'token')
    await set.removeAll()
    expect([set.all(), pods.handlers]).toEqual([[], 0])
  })
})
