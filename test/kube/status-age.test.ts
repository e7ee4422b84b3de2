import { expect, it, onTestFinished } from 'vitest'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { onApiServer } from './on-api-server.ts'
import { aManager } from './reconciling.ts'

onApiServer('The age of a status', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })

  it('is renewed once a minute where it says the same, and never for less', async () => {
    const spec = { instances: 3, storage: { size: '1Gi' } } as MySQLCluster['spec']
    await api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: key(),
      spec,
    })
    const manager = aManager(api.client, api.namespace)
    onTestFinished(() => manager.close())
    const { reconcile, showStatus, later } = manager
    await reconcile()
    await showStatus()
    const seen = async () => (await api.client.get(mysqlClusters, key()))?.status?.observedAt ?? ''
    const first = await seen()
    expect(Date.parse(first)).toBeGreaterThan(0)
    later(31_000)
    await showStatus()
    expect(await seen()).toBe(first)
    later(31_000)
    await showStatus()
    expect(Date.parse(await seen()) - Date.parse(first)).toBeGreaterThanOrEqual(60_000)
  })
})
