import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { mysqlClusters } from '../spec/mysql-cluster.ts'
import { ownerOf } from '../spec/owned.ts'
import { kubePlatform } from './platform.ts'
import { endpointSlices, type EndpointSlice } from '../primary/primary-endpoints.ts'
import { pods, statefulSets, type Pod, type StatefulSet } from '../pods/stateful-set.ts'
import { aCluster, aPod, aStatefulSet } from '../testing.ts'

const cluster = { namespace: 'shops', name: 'shop' }

function platform({
  replicas = 3,
  present = [aPod(0), aPod(1), aPod(2)],
  routing = 'endpoints',
}: { replicas?: number; present?: readonly Pod[]; routing?: 'endpoints' | 'labels' } = {}) {
  const client = new ScriptedClient()
  const podInformer = testingInformer<Pod>('pods', present)
  const sets = testingInformer<StatefulSet>('statefulsets', replicas === 0 ? [] : [aStatefulSet(replicas)])
  const slices = testingInformer<EndpointSlice>('endpointslices')
  const made = kubePlatform({
    client,
    pods: podInformer,
    statefulSets: sets,
    slices,
    cluster,
    owner: ownerOf(aCluster()),
    routing,
    committedEpoch: async () => undefined,
  })
  let changes = 0
  made.onChange(() => (changes += 1))
  const told = () => {
    const since = changes
    changes = 0
    return since
  }
  told()
  return { client, pods: podInformer, sets, slices, platform: made, told }
}

describe('a cluster’s place on Kubernetes', () => {
  it('has as many instances as its StatefulSet is to have, each by the address of its pod', async () => {
    const { platform: place } = platform({ replicas: 2 })
    expect(await place.instances()).toEqual([
      { name: 'shop-0', host: '10.0.0.1', port: 3306, agent: '10.0.0.1:9400' },
      { name: 'shop-1', host: '10.0.0.2', port: 3306, agent: '10.0.0.2:9400' },
    ])
  })

  it('has none before there is a set', async () => {
    expect(await platform({ replicas: 0 }).platform.instances()).toEqual([])
  })

  it('has an instance without an address while its first pod has none', async () => {
    const [, second] = await platform({ replicas: 2, present: [aPod(0)] }).platform.instances()
    expect(second).toEqual({ name: 'shop-1', host: '', port: 3306, agent: '' })
  })

  it('says what Kubernetes says of a pod that is not ready, and of no other', async () => {
    const waits = { name: 'mysql', state: { waiting: { reason: 'ErrImagePull' } } }
    const ill = aPod(0, { ready: false })
    const present = [{ ...ill, status: { ...ill.status, containerStatuses: [waits] } }, aPod(1)]
    const { platform: place, pods: informer, told } = platform({ replicas: 2, present })
    const [first, second] = await place.instances()
    expect(first).toMatchObject({ trouble: 'container mysql of its pod waits: ErrImagePull' })
    expect([second && 'trouble' in second, second && 'starting' in second]).toEqual([false, false])
    informer.put(aPod(0, { ready: false, phase: 'Pending' }))
    expect(told()).toBe(1)
    expect(await place.instances()).toMatchObject([{ starting: true }, {}])
  })

  it('knows the last address of a pod that is being made again, and then its new one, never a name of DNS', async () => {
    const { platform: place, pods: informer } = platform({ replicas: 1, present: [aPod(0)] })
    const hostNow = async () => (await place.instances())[0]?.host
    expect(await hostNow()).toBe('10.0.0.1')
    informer.delete(aPod(0))
    expect(await hostNow()).toBe('10.0.0.1')
    informer.put(aPod(0, { ip: '' }))
    expect(await hostNow()).toBe('10.0.0.1')
    informer.put(aPod(0, { ip: '10.0.7.7' }))
    expect(await hostNow()).toBe('10.0.7.7')
  })

  it('writes agents’ IPv6 addresses so that a port can follow', async () => {
    const [first] = await platform({ replicas: 1, present: [aPod(0, { ip: 'fd00::1' })] }).platform.instances()
    expect(first).toMatchObject({ host: 'fd00::1', agent: '[fd00::1]:9400' })
  })

  it('tells when an address or the number of pods changes, and not when anything else does', () => {
    const { pods: informer, sets, told } = platform()
    informer.put(aPod(0, { ip: '10.0.7.7' }))
    expect(told()).toBe(1)
    informer.put(aPod(0, { ip: '10.0.7.7', ready: false, role: 'replica' }))
    expect(told()).toBe(0)
    sets.put(aStatefulSet(5))
    expect(told()).toBe(1)
    sets.put({ ...aStatefulSet(5), status: { replicas: 4 } })
    expect(told()).toBe(0)
    informer.delete(aPod(2))
    expect(told()).toBe(1)
  })

  it('does not care for other clusters, not even of the same name elsewhere', () => {
    const { pods: informer, sets, told } = platform()
    informer.put(aPod(0, { metadata: { namespace: 'other' } }))
    informer.put(aPod(0, { metadata: { name: 'store-0', labels: { 'regent.dev/cluster': 'store' } } }))
    const elsewhere = aStatefulSet(1)
    sets.put({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'other' } })
    expect(told()).toBe(0)
  })

  it('listens to nothing any more once it is closed', () => {
    const { platform: place, pods: informer, sets, told } = platform()
    place.close()
    informer.put(aPod(0, { ip: '10.0.7.7' }))
    sets.put(aStatefulSet(5))
    expect(told()).toBe(0)
    expect([informer.handlers, sets.handlers]).toEqual([0, 0])
  })

  it('scales its set and touches nothing else of it', async () => {
    const { client, platform: place } = platform()
    await client.create(statefulSets, aStatefulSet(3))
    await place.scaleTo(5)
    const { replicas, ...rest } = (await client.get(statefulSets, cluster))?.spec ?? expect.fail('no set')
    const { replicas: before, ...same } = aStatefulSet(3).spec
    expect([before, replicas]).toEqual([3, 5])
    expect(rest).toEqual(same)
  })

  it('takes a wish for another number of instances into the resource, where people see it', async () => {
    const { client, platform: place } = platform()
    await client.create(mysqlClusters, aCluster({ instances: 3, durability: 'available' }))
    await place.wish?.(5)
    expect((await client.get(mysqlClusters, cluster))?.spec).toMatchObject({ instances: 5, durability: 'available' })
  })

  it('publishes the primary in its EndpointSlice', async () => {
    const { client, platform: place } = platform()
    const route = { epoch: 1, instance: 'shop-1', host: '10.0.0.2', port: 3306 }
    expect(await place.publishPrimary(route)).toBe(true)
    expect(await place.publishedPrimary()).toEqual(route)
    expect(await client.get(endpointSlices, { namespace: 'shops', name: 'shop-primary' })).toBeDefined()
  })

  it('tells when somebody else changes or deletes the EndpointSlice, and not of its own writes', async () => {
    const { client, platform: place, slices } = platform()
    let found = 0
    place.onMeddling(() => (found += 1))
    const sliceKey = { namespace: 'shops', name: 'shop-primary' }
    const seen = async () => slices.put((await client.get(endpointSlices, sliceKey)) ?? expect.fail('no slice'))
    for (const epoch of [1, 2]) {
      await place.publishPrimary({ epoch, instance: 'shop-1', host: '10.0.0.2', port: 3306 })
      await seen()
    }
    expect(found).toBe(0)
    await client.patch(endpointSlices, sliceKey, { endpoints: [] })
    await seen()
    expect(found).toBe(1)
    slices.delete((await client.get(endpointSlices, sliceKey)) ?? expect.fail('no slice'))
    expect(found).toBe(2)
  })

  it('publishes the primary by its label where that is asked for, and writes no EndpointSlice', async () => {
    const { client, platform: place } = platform({ routing: 'labels' })
    for (const pod of [aPod(0), aPod(1)]) await client.create(pods, pod)
    const route = { epoch: 1, instance: 'shop-1', host: '10.0.0.2', port: 3306 }
    expect(await place.publishPrimary(route)).toBe(true)
    expect(await place.publishedPrimary()).toEqual(route)
    expect(await client.get(endpointSlices, { namespace: 'shops', name: 'shop-primary' })).toBeUndefined()
  })
})
