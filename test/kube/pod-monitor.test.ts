import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { podMonitors } from '#kube/objects/pod-monitor.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'
import { restMs } from '#manager/kubernetes/reconcile-cluster.ts'
import { customResourceDefinitions, type Client } from './clients.ts'
import { onApiServer } from './on-api-server.ts'
import { aManager } from './reconciling.ts'

onApiServer('A PodMonitor', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const cluster = () =>
    api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: key(),
      spec: { instances: 3, storage: { size: '1Gi' }, podMonitor: true } as MySQLCluster['spec'],
    })
  const manager = () => {
    const made = aManager(api.client, api.namespace, { disabled: [] })
    onTestFinished(() => made.close())
    return made
  }

  it('that cannot be made, its kind is not there, keeps nothing else from being made: the cluster is managed, and its status says which', async () => {
    await cluster()
    const { reconcile, showStatus, set } = manager()
    await expect(reconcile(2)).rejects.toThrow(/podmonitors.*404/)
    await expect(reconcile(1)).rejects.toThrow(/podmonitors.*404/)
    expect(set.all()).toHaveLength(1)
    for (const resource of [statefulSets, podDisruptionBudgets])
      expect(await api.client.get<KubeObject>(resource, key())).toBeDefined()
    await showStatus()
    const status = (await api.client.get(mysqlClusters, key()))?.status
    expect(status?.observedGeneration).toBeUndefined()
    expect(status?.conditions?.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'SpecNotFollowed',
    })
  })

  it('is made where its kind is there, put back when it is looked for again, and taken away', async () => {
    await servePodMonitors(api.client)
    await cluster()
    const { reconcile } = manager()
    const found = () => api.client.get(podMonitors, key())
    await reconcile()
    const made = await found()
    expect(made?.spec).toEqual({
      selector: { matchLabels: { 'regent.dev/cluster': 'shop' } },
      podMetricsEndpoints: [{ port: 'probes', path: '/metrics', honorLabels: true }],
    })
    await api.client.delete(podMonitors, key())
    const { spec } = (await api.client.get(mysqlClusters, key())) ?? expect.fail('no cluster')
    expect(restMs(spec)).toBe(600_000)
    expect(restMs({ ...spec, podMonitor: false })).toBeGreaterThan(600_000)
    await reconcile(1)
    expect((await found())?.spec).toEqual(made?.spec)
    await api.client.patch(mysqlClusters, key(), { spec: { podMonitor: false } })
    await reconcile(1)
    expect(await found()).toBeUndefined()
  })
})

/** The Prometheus operator's kind, as far as it is used here, until the test ends. */
async function servePodMonitors(client: Client): Promise<void> {
  const name = `${podMonitors.plural}.${podMonitors.group}`
  const text = { type: 'string' }
  const endpoint = { type: 'object', properties: { port: text, path: text, honorLabels: { type: 'boolean' } } }
  const selector = { type: 'object', properties: { matchLabels: { type: 'object', additionalProperties: text } } }
  const spec = {
    type: 'object',
    required: ['selector'],
    properties: { selector, podMetricsEndpoints: { type: 'array', items: endpoint } },
  }
  const version = {
    name: podMonitors.version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  }
  await client.create<KubeObject>(customResourceDefinitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: podMonitors.group,
      scope: 'Namespaced',
      names: { kind: podMonitors.kind, plural: podMonitors.plural },
      versions: [version],
    },
  } as KubeObject)
  onTestFinished(() => client.delete(customResourceDefinitions, { namespace: '', name }))
  const isServed = () =>
    client.list(podMonitors, { namespace: 'default' }).then(
      () => true,
      () => false,
    )
  while (!(await isServed())) await sleep(50)
}
