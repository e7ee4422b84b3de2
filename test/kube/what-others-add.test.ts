import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { expect, it, onTestFinished } from 'vitest'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { commonLabels } from '#kube/names/names.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { pods, statefulSets, type Pod } from '#kube/pods/stateful-set.ts'
import { services } from '#kube/objects/services.ts'
import { onApiServer } from './on-api-server.ts'
import { aManager, type ManagerShape } from './reconciling.ts'

const endpoints: Resource = { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true }
const byHand = { fieldManager: 'kubectl-edit' }

onApiServer('What others add to a cluster’s objects', (api) => {
  const manager = (shape?: ManagerShape) => {
    const made = aManager(api.client, api.namespace, shape)
    onTestFinished(() => made.close())
    return made
  }
  const key = (name: string) => ({ namespace: api.namespace, name })
  const cluster = (spec: object = {}) =>
    api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: key('shop'),
      spec: { instances: 3, storage: { size: '1Gi' }, ...spec } as MySQLCluster['spec'],
    })
  const specOf = async (name: string) =>
    (await api.client.get(services, key(name)))?.spec ?? expect.fail(`no Service ${name}`)
  const edit = (name: string, spec: object) => api.client.patch(services, key(name), { spec }, byHand)

  it('a selector on the Service of the primary is taken away, and told: it would lead clients to replicas', async () => {
    await cluster()
    const { reconcile, putRight } = manager()
    await reconcile()
    expect(putRight).toEqual([])
    await edit('shop-primary', { selector: { 'regent.dev/cluster': 'shop' } })
    await reconcile(1)
    expect((await specOf('shop-primary')).selector).toBeUndefined()
    expect(putRight).toEqual([expect.stringMatching(/^Service shop-primary .*selector regent\.dev\/cluster=shop/)])
    await reconcile(1)
    expect(putRight).toHaveLength(1)
  })

  it('a word more in a selector of ours is taken away: it would lead clients to nobody', async () => {
    await cluster({ services: { routing: 'labels' } })
    const { reconcile } = manager()
    await reconcile()
    const names = ['shop-primary', 'shop-replicas', 'shop-instances']
    const before = await Promise.all(names.map(specOf))
    for (const name of names) await edit(name, { selector: { tier: 'gold' } })
    await reconcile(1)
    expect((await Promise.all(names.map(specOf))).map(({ selector }) => selector)).toEqual(
      before.map(({ selector }) => selector),
    )
  })

  it.each([
    [
      'a second port',
      {
        ports: [
          { name: 'mysql', port: 3306, targetPort: 3306 },
          { name: 'x', port: 33060, targetPort: 33060 },
        ],
      },
    ],
    ['another number of the port', { ports: [{ name: 'mysql', port: 3307, targetPort: 3306 }] }],
    ['another name of the port', { ports: [{ name: 'db', port: 3306, targetPort: 3306 }] }],
    ['sticky clients', { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }],
    ['pods that are not ready', { publishNotReadyAddresses: true }],
    ['instances of the client’s own node alone', { internalTrafficPolicy: 'Local' }],
    ['another name', { type: 'ExternalName', externalName: 'elsewhere.example', clusterIP: '', clusterIPs: null }],
    ['a port of every node', { type: 'NodePort' }],
  ])('%s: Service shop-primary is as it was again', async (_what, spec) => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    const { clusterIP: _ip, clusterIPs: _ips, ...before } = await specOf('shop-primary')
    await edit('shop-primary', spec)
    await reconcile(1)
    const { clusterIP: _now, clusterIPs: _nows, ...after } = await specOf('shop-primary')
    expect(after).toEqual(before)
  })

  it('endpoints beside Regent’s own are taken away from the primary’s Service', async () => {
    await cluster()
    const { reconcile, putRight } = manager()
    await reconcile()
    const slice = (name: string, labels: object) =>
      api.client.create(endpointSlices, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...key(name), labels: { 'kubernetes.io/service-name': 'shop-primary', ...labels } },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      })
    const own = { ...commonLabels('shop'), 'endpointslice.kubernetes.io/managed-by': 'regent.dev' }
    await slice('shop-primary', own)
    await slice('shop-primary-abcde', { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' })
    await slice('hand-made', {})
    await slice('of-another', { 'kubernetes.io/service-name': 'other' })
    await api.client.create(endpoints, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: key('shop-primary'),
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'mysql', port: 3306 }] }],
    } as KubeObject)
    await reconcile(1)
    const { items } = await api.client.list(endpointSlices, { namespace: api.namespace })
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['of-another', 'shop-primary'])
    expect(await api.client.get(endpoints, key('shop-primary'))).toBeUndefined()
    expect(putRight.join()).toMatch(/Endpoints shop-primary.*hand-made.*shop-primary-abcde/)
  })

  it('where the Service selects by label, its own controller’s endpoints stay', async () => {
    await cluster({ services: { routing: 'labels' } })
    const { reconcile } = manager()
    await reconcile()
    const slice = (name: string, by: string) =>
      api.client.create(endpointSlices, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          ...key(name),
          labels: { 'kubernetes.io/service-name': 'shop-primary', 'endpointslice.kubernetes.io/managed-by': by },
        },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      })
    await slice('shop-primary-abcde', 'endpointslice-controller.k8s.io')
    await slice('hand-made', 'me')
    await reconcile(1)
    const { items } = await api.client.list(endpointSlices, { namespace: api.namespace })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['shop-primary-abcde'])
  })

  const template = async () => (await api.client.get(statefulSets, key('shop')))?.spec.template ?? expect.fail('no set')
  const editTemplate = async (change: (made: V1PodTemplateSpec) => object) =>
    api.client.patch(
      statefulSets,
      key('shop'),
      { spec: { template: change(structuredClone(await template())) } },
      byHand,
    )
  const withVariable = ({ spec }: V1PodTemplateSpec) => {
    const [mysql, ...more] = spec?.containers ?? []
    return { spec: { containers: [{ ...mysql, env: [{ name: 'LD_PRELOAD', value: '/tmp/x.so' }] }, ...more] } }
  }

  it.each([
    ['an environment variable', withVariable, /containers\.mysql\.env/],
    ['a label', () => ({ metadata: { labels: { tier: 'gold' } } }), /labels\.tier/],
    [
      'a container',
      ({ spec }: V1PodTemplateSpec) => ({
        spec: { containers: [...(spec?.containers ?? []), { name: 'spy', image: 'spy:1' }] },
      }),
      /containers\.spy/,
    ],
    ['the network of the node', () => ({ spec: { hostNetwork: true } }), /hostNetwork/],
  ])('%s added to what pods are made of is taken away, and told', async (_what, change, told) => {
    await cluster()
    const { reconcile, putRight } = manager()
    await reconcile()
    const before = await template()
    await editTemplate(change)
    await reconcile(1)
    expect(await template()).toEqual(before)
    expect(putRight).toEqual([expect.stringMatching(told)])
    await reconcile(1)
    expect(putRight).toHaveLength(1)
  })

  it('other numbers of the pods are taken away', async () => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    await api.client.patch(statefulSets, key('shop'), { spec: { ordinals: { start: 1 }, minReadySeconds: 30 } }, byHand)
    await reconcile(1)
    const { spec } = (await api.client.get(statefulSets, key('shop'))) ?? expect.fail('no set')
    expect([spec.ordinals, spec.minReadySeconds]).toEqual([undefined, undefined])
  })

  it('annotations of what pods are made of stay: kubectl rollout restart leaves one', async () => {
    await cluster()
    const { reconcile, putRight } = manager()
    await reconcile()
    await editTemplate(() => ({ metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': 'today' } } }))
    await reconcile(1)
    expect((await template()).metadata?.annotations).toMatchObject({ 'kubectl.kubernetes.io/restartedAt': 'today' })
    expect(putRight).toEqual([])
  })

  it('who puts the same back again and again is not fought for ever', async () => {
    await cluster()
    const { reconcile, putRight } = manager()
    await reconcile()
    for (let time = 0; time < 5; time += 1) {
      await editTemplate(withVariable)
      await reconcile(1)
    }
    expect((await template()).spec?.containers[0]?.env).toHaveLength(1)
    expect(putRight).toHaveLength(4)
    expect(putRight.at(-1)).toContain('again and again')
  })

  /** As the set's controller would make it, but for what one line says otherwise. */
  const aPodOf = async (name: string, otherwise: { labels?: object; claim?: string; owner?: string } = {}) => {
    const set = (await api.client.get(statefulSets, key('shop'))) ?? expect.fail('no set')
    const { labels, claim, owner } = { labels: {}, claim: `data-${name}`, owner: set.metadata.uid, ...otherwise }
    const { metadata, spec = { containers: [] } } = set.spec.template
    const volumes = [...(spec.volumes ?? []), { name: 'data', persistentVolumeClaim: { claimName: claim } }]
    const uid = owner
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop', uid, controller: true }]
    const meta = {
      ...key(name),
      labels: { ...metadata?.labels, ...labels },
      annotations: { ...metadata?.annotations },
      ownerReferences,
    }
    await api.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: meta,
      spec: { ...spec, volumes },
    } as Pod)
  }
  const labelsOf = async (name: string) => (await api.client.get(pods, key(name)))?.metadata.labels

  it('a label that somebody took off a pod is put back, also where no cache of Regent’s sees the pod any more', async () => {
    await cluster()
    const { reconcile, showStatus, putRight } = manager()
    await reconcile()
    for (const name of ['shop-0', 'shop-1']) await aPodOf(name)
    const before = await Promise.all(['shop-0', 'shop-1'].map(labelsOf))
    await api.client.patch(pods, key('shop-0'), { metadata: { labels: { 'regent.dev/cluster': null } } }, byHand)
    await api.client.patch(
      pods,
      key('shop-1'),
      { metadata: { labels: { 'regent.dev/cluster': 'x', 'app.kubernetes.io/managed-by': null } } },
      byHand,
    )
    await showStatus()
    expect(await Promise.all(['shop-0', 'shop-1'].map(labelsOf))).toEqual(before)
    expect(putRight.join()).toMatch(/pod shop-0 .*regent\.dev\/cluster put back.*pod shop-1 .*managed-by put back/)
  })

  it('a pod of such a name that has none of the cluster’s volumes is not Regent’s, and is left', async () => {
    await cluster()
    const { reconcile, showStatus } = manager()
    await reconcile()
    await aPodOf('shop-0', { labels: { 'regent.dev/cluster': 'x' }, claim: 'data-other-0' })
    await showStatus()
    expect(await labelsOf('shop-0')).toMatchObject({ 'regent.dev/cluster': 'x' })
  })

  it('is left where nothing is to be put right (applyOnce force)', async () => {
    await cluster()
    const { reconcile, showStatus } = manager({ applyOnce: 'force' })
    await reconcile()
    await showStatus()
    await edit('shop-primary', { selector: { tier: 'gold' } })
    await api.client.patch(mysqlClusters, key('shop'), { spec: { durability: 'available' } })
    await reconcile(1)
    expect((await specOf('shop-primary')).selector).toEqual({ tier: 'gold' })
  })
})
