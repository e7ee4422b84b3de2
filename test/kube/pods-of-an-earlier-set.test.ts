import { expect, it, onTestFinished, vi } from 'vitest'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { pods, statefulSets, type Pod } from '#kube/pods/stateful-set.ts'
import { onApiServer } from './on-api-server.ts'
import { aManager } from './reconciling.ts'

onApiServer('A set that does not make its pods', (api) => {
  const key = (name: string) => ({ namespace: api.namespace, name })

  async function aCluster() {
    const manager = aManager(api.client, api.namespace)
    onTestFinished(() => manager.close())
    const spec = { instances: 1, storage: { size: '1Gi' } } as MySQLCluster['spec']
    await api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: key('shop'),
      spec,
    })
    await manager.reconcile()
    return manager
  }
  async function aPodOf(uid: string): Promise<void> {
    const set = (await api.client.get(statefulSets, key('shop'))) ?? expect.fail('no set')
    const { metadata, spec } = set.spec.template
    const volumes = [...(spec?.volumes ?? []), { name: 'data', persistentVolumeClaim: { claimName: 'data-shop-0' } }]
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop', uid, controller: true }]
    const made = { ...metadata, ...key('shop-0'), ownerReferences }
    await api.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: made,
      spec: { ...spec, volumes },
    } as unknown as Pod)
  }
  const touched = async () =>
    (await api.client.get(statefulSets, key('shop')))?.metadata.annotations?.['regent.dev/looked-at']
  const progressing = async () =>
    (await api.client.get(mysqlClusters, key('shop')))?.status?.conditions?.find(({ type }) => type === 'Progressing')

  it('is touched until it does, so that its controller does not wait for up to 1,000 s', async () => {
    const { showStatus } = await aCluster()
    expect((await showStatus())?.requeueAfterMs).toBeLessThanOrEqual(2_000)
    expect(await touched()).toBeUndefined()
    await vi.waitFor(async () => (await showStatus(), expect(await touched()).toBeDefined()), {
      timeout: 10_000,
      interval: 200,
    })
    const first = await touched()
    await vi.waitFor(async () => (await showStatus(), expect(await touched()).not.toBe(first)), {
      timeout: 10_000,
      interval: 200,
    })
  })

  it('is said to wait for a pod of an earlier cluster that is still ending, and left in peace meanwhile', async () => {
    const { showStatus } = await aCluster()
    await aPodOf('f0f0f0f0-0000-4000-8000-000000000000')
    await showStatus()
    expect(await progressing()).toMatchObject({
      status: 'True',
      message: expect.stringContaining('pod shop-0 of an earlier cluster') as string,
    })
    const { uid } = (await api.client.get(pods, key('shop-0')))?.metadata ?? {}
    await api.client.delete(pods, key('shop-0'), { gracePeriodSeconds: 0 })
    expect(uid).toBeDefined()
    await vi.waitFor(async () => (await showStatus(), expect(await touched()).toBeDefined()), {
      timeout: 10_000,
      interval: 200,
    })
  })
})
