import { expect, it } from 'vitest'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { ownerOf } from '#kube/spec/owned.ts'
import { endpointSlices, PrimaryEndpoints, type EndpointsOf } from '#kube/primary/primary-endpoints.ts'
import { aCluster } from '#kube/testing.ts'
import { shop } from '#store/contract.ts'
import { kubeStore } from '#store/kube.ts'
import { onApiServer } from './on-api-server.ts'

const route = (epoch: number, ordinal: number): PrimaryRoute => ({
  epoch,
  instance: `shop-${ordinal}`,
  host: `10.0.0.${ordinal + 1}`,
  port: 3306,
})

onApiServer('The primary’s endpoints', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop-primary' })

  /** A cluster that its managers publish for. */
  async function endpointsOf(): Promise<EndpointsOf> {
    const { metadata, spec, ...rest } = aCluster()
    const cluster = await api.client.create(mysqlClusters, {
      ...rest,
      spec: { ...spec, acks: null },
      metadata: { name: metadata.name, namespace: api.namespace },
    })
    const store = kubeStore(api.client, { namespace: api.namespace })
    return {
      cluster: 'shop',
      namespace: api.namespace,
      owner: ownerOf(cluster),
      committedEpoch: async () => (await store.readRecord('shop'))?.epoch,
    }
  }

  /** Two managers' views of one cluster. */
  async function two(): Promise<readonly [PrimaryEndpoints, PrimaryEndpoints]> {
    const of = await endpointsOf()
    return [new PrimaryEndpoints(api.client, of), new PrimaryEndpoints(api.client, of)]
  }

  it('are a slice of the Service that the cluster owns', async () => {
    const [endpoints] = await two()
    expect(await endpoints.published()).toBeUndefined()
    expect(await endpoints.publish(route(1, 0))).toBe(true)
    expect(await endpoints.published()).toEqual(route(1, 0))
    expect(await api.client.get(endpointSlices, key())).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/service-name': 'shop-primary',
          'endpointslice.kubernetes.io/managed-by': 'regent.dev',
        },
        ownerReferences: [{ kind: 'MySQLCluster', name: 'shop' }],
      },
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          conditions: { ready: true, serving: true, terminating: false },
          targetRef: { kind: 'Pod', name: 'shop-0' },
        },
      ],
      ports: [{ name: 'mysql', port: 3306, protocol: 'TCP' }],
    })
  })

  it('go to the newer epoch, whoever writes last, and a stale writer is told that it lost', async () => {
    const [old, now] = await two()
    await old.publish(route(1, 0))
    expect(await now.publish(route(2, 1))).toBe(true)
    // It has seen nothing newer: the API server's compare-and-swap tells it.
    expect(await old.publish(route(1, 2))).toBe(false)
    expect(await now.published()).toEqual(route(2, 1))
  })

  it('of many failovers that many managers publish at once are those of the highest epoch', async () => {
    const of = await endpointsOf()
    const managers = Array.from({ length: 12 }, () => new PrimaryEndpoints(api.client, of))
    const published = await Promise.all(
      managers.map((manager, number) => manager.publish(route(number + 1, number % 3))),
    )
    expect(published.at(-1)).toBe(true)
    expect(await managers[0]?.published()).toEqual(route(12, 2))
  })

  it('move to an address of the other family, as a cluster that becomes dual-stack may do', async () => {
    const [endpoints] = await two()
    await endpoints.publish(route(1, 0))
    expect(await endpoints.publish({ ...route(2, 1), host: 'fd00::2' })).toBe(true)
    expect((await endpoints.published())?.host).toBe('fd00::2')
  })

  it('are made again where a hand deleted them', async () => {
    const [endpoints] = await two()
    await endpoints.publish(route(1, 0))
    await api.client.delete(endpointSlices, key())
    expect(await endpoints.publish(route(2, 1))).toBe(true)
    expect(await endpoints.published()).toEqual(route(2, 1))
  })

  it('with a forged epoch above the record’s own are put right by who publishes that, and by nobody else', async () => {
    const [old, now] = await two()
    const store = kubeStore(api.client, { namespace: api.namespace })
    await store.compareAndSwap('shop', 0, { ...shop, epoch: 2, revision: 1 })
    await now.publish(route(2, 1))
    await api.client.patch(endpointSlices, key(), {
      metadata: { annotations: { 'regent.dev/epoch': '99' } },
      endpoints: [],
    })
    expect(await old.publish(route(1, 0))).toBe(false)
    // As a loop does that hears of the change.
    expect(await now.published()).toBeUndefined()
    expect(await now.publish(route(2, 1))).toBe(true)
    expect(await now.published()).toEqual(route(2, 1))
    expect((await api.client.get(endpointSlices, key()))?.metadata.annotations).toMatchObject({
      'regent.dev/epoch': '2',
    })
  })

  it('in a namespace that is gone fail, rather than be tried for ever', async () => {
    const endpoints = new PrimaryEndpoints(api.client, {
      cluster: 'shop',
      namespace: 'gone',
      owner: ownerOf(aCluster()),
      committedEpoch: async () => undefined,
    })
    await expect(endpoints.publish(route(1, 0))).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('namespaces "gone" not found') as string,
    })
  })
})
