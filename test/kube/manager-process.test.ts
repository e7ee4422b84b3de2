import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { newEvent } from '#agents/lifecycle/events/event-object.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { endpointSlices, serviceName } from '#kube/primary/primary-endpoints.ts'
import { services } from '#kube/objects/services.ts'
import { events } from '#controller-runtime/events/event-recorder.ts'
import { withController } from '#controller-runtime/objects/owner-references.ts'
import { podEvents, type PodEvent } from '#kube/pod-events/pod-event.ts'
import { pods, statefulSets, type Pod } from '#kube/pods/stateful-set.ts'
import { ManagerProcess, prepareForManager } from './manager-process.ts'
import { onOwnApiServer } from './on-api-server.ts'
import { manifest, smallest } from './smallest-cluster.ts'

onOwnApiServer('A manager’s process', (api) => {
  it('makes what a cluster becomes, puts right what others add to it, labels a pod of another component by what its agent says, counts what it asks of the API server, and ends when it is told to', async () => {
    await prepareForManager(api.client)
    const folder = await mkdtemp(join(tmpdir(), 'regent-manager-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const manager = await ManagerProcess.start(folder, api.access)
    onTestFinished(() => manager.end())
    const metadata = { namespace: api.namespace, name: 'shop' }
    await api.client.create(mysqlClusters, manifest(api.namespace, { ...smallest, image: 'mysql:8.4.6' }))
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
    const cache = { namespace: api.namespace, name: 'cache-0' }
    const set = await api.client.create(statefulSets, {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { namespace: api.namespace, name: 'cache' },
      spec: {
        serviceName: 'cache',
        selector: { matchLabels: { app: 'cache' } },
        template: {
          metadata: { labels: { app: 'cache' } },
          spec: { containers: [{ name: 'cache', image: 'cache:1' }] },
        },
      },
    })
    const pod = await api.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: withController({ apiVersion: 'v1', kind: 'Pod', metadata: { ...cache, labels: { app: 'cache' } } }, set)
        .metadata,
      spec: {
        serviceAccountName: 'shop-agents',
        automountServiceAccountToken: false,
        containers: [{ name: 'cache', image: 'cache:1' }],
      } as NonNullable<Pod['spec']>,
    })
    const text = '{"instance":"cache","probe":"roleProbe","code":0,"output":"cHJpbWFyeQ=="}'
    const ofPod = { ...cache, uid: pod.metadata.uid ?? '', node: 'n1' }
    const said = newEvent(ofPod, { reason: 'roleProbe', text }, Date.now() * 1_000)
    await api.client.create(podEvents, said as unknown as PodEvent)
    const role = async () => (await api.client.get(pods, cache))?.metadata.labels?.['kubeblocks.io/role']
    await vi.waitFor(async () => expect(await role()).toBe('primary'), soon)
    await manager.end()
    await expect(manager.metrics()).rejects.toThrow()
  })
})
