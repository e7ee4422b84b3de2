import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { mysqlClusters, type MySQLCluster } from '../../src/kube/mysql-cluster.ts'
import { statefulSets } from '../../src/kube/stateful-set.ts'
import { ManagerProcess, prepareForManager } from './manager-process.ts'
import { onOwnApiServer } from './on-api-server.ts'

onOwnApiServer('A manager’s process', (api) => {
  it('makes what a cluster becomes, counts what it asks of the API server, and ends when it is told to', async () => {
    await prepareForManager(api.client)
    const folder = await mkdtemp(join(tmpdir(), 'regent-manager-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const manager = await ManagerProcess.start(folder, api.access)
    onTestFinished(() => manager.end())
    const metadata = { namespace: api.namespace, name: 'shop' }
    await api.client.create(mysqlClusters, { apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLCluster', metadata, spec: { instances: 3, storage: { size: '1Gi' }, image: 'mysql:8.4.6' } } as unknown as MySQLCluster)
    await vi.waitFor(async () => expect(await api.client.get(statefulSets, metadata)).toBeDefined(), { timeout: 60_000, interval: 200 })
    // The lease is renewed (PUT) without a throttle, objects are applied (PATCH) behind one: both count.
    await vi.waitFor(async () => {
      const metrics = await manager.metrics()
      for (const method of ['GET', 'PUT', 'PATCH']) expect(metrics.split('\n')).toContainEqual(expect.stringMatching(new RegExp(`^rest_client_requests_total\\{code="20[01]",method="${method}",host="127\\.0\\.0\\.1:\\d+"\\} [1-9]`)))
    }, { timeout: 20_000, interval: 200 })
    await manager.end()
    await expect(manager.metrics()).rejects.toThrow()
  })
})
