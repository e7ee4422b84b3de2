import { expect, it } from 'vitest'
import { services } from '#kube/objects/services.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { commonLabels } from '#kube/names/names.ts'
import { onApiServer } from './on-api-server.ts'
import { shopOn } from './reconciling.ts'

onApiServer('Reads without a router', (api) => {
  const shop = shopOn(api)
  const selector = async () => (await api.client.get(services, shop.key('shop-replicas')))?.spec.selector

  async function aPodWith(name: string, labels: object): Promise<void> {
    await api.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...shop.key(name), labels: { ...commonLabels('shop'), ...labels } },
      spec: {
        serviceAccountName: 'shop-agents',
        automountServiceAccountToken: false,
        containers: [{ name: 'mysql', image: 'mysql:8.4.6' }],
      },
    } as never)
  }
  async function read(): Promise<readonly string[]> {
    const { items } = await api.client.list(pods, {
      namespace: api.namespace,
      labelSelector: 'regent.dev/cluster=shop,regent.dev/reads=open',
    })
    return items.map(({ metadata }) => metadata.name)
  }

  it('keep their replicas when a Service of an older version selects by the new label, and only then', async () => {
    await shop.cluster()
    const manager = shop.manager()
    await manager.reconcile()
    await api.client.patch(services, shop.key('shop-replicas'), {
      spec: { selector: { 'regent.dev/reads': null, 'regent.dev/role': 'replica' } },
    })
    await aPodWith('shop-0', { 'regent.dev/role': 'primary' })
    await aPodWith('shop-1', { 'regent.dev/role': 'replica' })
    await manager.reconcile(1)
    expect(await read()).toEqual(['shop-1'])
    expect(await selector()).toMatchObject({ 'regent.dev/cluster': 'shop', 'regent.dev/reads': 'open' })
    await aPodWith('shop-2', { 'regent.dev/role': 'replica' })
    await manager.reconcile(1)
    expect(await read()).toEqual(['shop-1'])
  })

  it.each([
    [{ fallback: 'any' }, 'spec.services.replicas.reads.fallback'],
    [{ maxLagMs: 0 }, 'spec.services.replicas.reads.maxLagMs'],
  ])('are refused by the API server itself where they are %j', async (reads, message) => {
    await expect(shop.cluster({ services: { replicas: { reads } } })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(message) as string,
    })
  })
})
