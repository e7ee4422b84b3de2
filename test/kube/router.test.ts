import { expect, it } from 'vitest'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { apps } from '#kube/app/app.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { onApiServer } from './on-api-server.ts'
import { shopOn } from './reconciling.ts'

onApiServer('The router of a MySQLCluster', (api) => {
  const shop = shopOn(api)
  const parts = () =>
    Promise.all([
      api.client.get(apps, shop.key('shop-router')),
      api.client.get(configMaps, shop.key('shop-router')),
      api.client.get(podDisruptionBudgets, shop.key('shop-router')),
    ])

  it('is an App with a budget and settings, owned by the cluster, and put back where a hand changes the App', async () => {
    const { metadata } = await shop.cluster({ router: { replicas: 3, waitMs: 500, connectMs: 100 } })
    const manager = shop.manager()
    await manager.reconcile()
    const [app, settings, budget] = await parts()
    for (const one of [app, settings, budget])
      expect(one?.metadata.ownerReferences).toMatchObject([{ kind: 'MySQLCluster', uid: metadata.uid }])
    expect(app?.spec).toMatchObject({ replicas: 3, image: 'regent:1', service: { name: 'shop' } })
    expect(JSON.parse(settings?.data?.['router.json'] ?? '')).toMatchObject({
      settings: { waitMs: 500, connectMs: 100 },
    })
    expect(budget?.spec).toMatchObject({
      maxUnavailable: 1,
      selector: { matchLabels: { 'apps.regent.dev/app': 'shop-router' } },
    })
    await api.client.patch(apps, shop.key('shop-router'), { spec: { replicas: 9 } })
    await manager.reconcile()
    expect((await parts())[0]?.spec.replicas).toBe(3)
  })

  it('goes where it is not wanted any more, and only this', async () => {
    await shop.cluster({ router: {} })
    const manager = shop.manager()
    await manager.reconcile()
    await shop.change({ router: null })
    await manager.reconcile()
    expect(await parts()).toEqual([undefined, undefined, undefined])
  })

  it('is not made where nobody asks for one', async () => {
    await shop.cluster()
    const manager = shop.manager()
    await manager.reconcile()
    expect(await parts()).toEqual([undefined, undefined, undefined])
    expect(manager.writes.filter((write) => write.includes('shop-router'))).toEqual([])
  })

  it.each([
    [{ ports: { write: 3306, read: 3306 } }, 'ports.write and ports.read are the same'],
    [{ replicas: 0 }, 'spec.router.replicas'],
    [{ reads: { fallback: 'any' } }, 'spec.router.reads.fallback'],
    [{ waitMs: -1 }, 'spec.router.waitMs'],
    [{ connectMs: 9 }, 'spec.router.connectMs'],
  ])('is refused by the API server itself: %j', async (router, message) => {
    await expect(shop.cluster({ router })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(message) as string,
    })
  })

  it('leaves an App of somebody else as it is', async () => {
    await api.client.create(apps, {
      apiVersion: 'apps.regent.dev/v1',
      kind: 'App',
      metadata: shop.key('shop-router'),
      spec: { image: 'other:1' } as never,
    })
    await shop.cluster({ router: {} })
    const manager = shop.manager()
    await expect(manager.reconcile()).rejects.toMatchObject({
      message: expect.stringContaining(`App ${api.namespace}/shop-router is not of MySQLCluster shop`) as string,
    })
    expect((await parts())[0]?.spec.image).toBe('other:1')
    expect(await api.client.get(mysqlClusters, shop.key())).toBeDefined()
  })
})
