import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { mysqlClusters, type MySQLCluster } from '../../src/kube/spec/mysql-cluster.ts'
import { endpointSlices, serviceName } from '../../src/kube/primary/primary-endpoints.ts'
import { services } from '../../src/kube/objects/services.ts'
import { events } from '../../src/controller-runtime/events/event-recorder.ts'
import { statefulSets } from '../../src/kube/pods/stateful-set.ts'
import { ManagerProcess, prepareForManager } from './manager-process.ts'
import { onOwnApiServer } from './on-api-server.ts'

onOwnApiServer('A manager’s process', (api) => {
  it('makes what a cluster becomes, puts right what others add to it, counts what it asks of the API server, and ends when it is told to', async () => {
    await prepareForManager(api.client)
    const folder = await mkdtemp(join(tmpdir(), 'regent-manager-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const manager = await ManagerProcess.start(folder, api.access)
    onTestFinished(() => manager.end())
    const metadata = { namespace: api.namespace, name: 'shop' }
    await api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata,
      spec: { instances: 3, storage: { size: '1Gi' }, image: 'mysql:8.4.6' },
    } as unknown as MySQLCluster)
    await vi.waitFor(async () => expect(await api.client.get(statefulSets, metadata)).toBeDefined(), {
      timeout: 60_000,
      interval: 200,
    })
    // The lease is renewed (PUT) without a throttle, objects are applied (PATCH) behind one: both count.
    await vi.waitFor(
      async () => {
        const metrics = await manager.metrics()
        for (const method of ['GET', 'PUT', 'PATCH'])
          expect(metrics.split('\n')).toContainEqual(
            expect.stringMatching(
              new RegExp(
                `^rest_client_requests_total\\{code="20[01]",method="${method}",host="127\\.0\\.0\\.1:\\d+"\\} [1-9]`,
              ),
            ),
          )
      },
      { timeout: 20_000, interval: 200 },
    )
    // What others add is seen by watching, and taken away within seconds: nothing else tells of it.
    const soon = { timeout: 10_000, interval: 100 }
    const primary = { namespace: api.namespace, name: 'shop-primary' }
    await api.client.patch(services, primary, { spec: { selector: { tier: 'gold' } } })
    await vi.waitFor(async () => expect((await api.client.get(services, primary))?.spec.selector).toBeUndefined(), soon)
    const hand = { namespace: api.namespace, name: 'hand-made' }
    const slice = {
      metadata: { ...hand, labels: { [serviceName]: primary.name } },
      addressType: 'IPv4' as const,
      endpoints: [],
    }
    await api.client.create(endpointSlices, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', ...slice })
    await vi.waitFor(async () => expect(await api.client.get(endpointSlices, hand)).toBeUndefined(), soon)
    await api.client.patch(statefulSets, metadata, { spec: { template: { metadata: { labels: { tier: 'gold' } } } } })
    const labels = async () => (await api.client.get(statefulSets, metadata))?.spec.template.metadata?.labels
    await vi.waitFor(async () => expect(await labels()).not.toHaveProperty('tier'), soon)
    const told = async () =>
      (await api.client.list(events, { namespace: api.namespace })).items.filter(({ reason }) => reason === 'PutRight')
    await vi.waitFor(async () => expect((await told()).length).toBeGreaterThan(2), soon)
    await manager.end()
    await expect(manager.metrics()).rejects.toThrow()
  })
})
