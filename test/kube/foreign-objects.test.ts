import { expect, it } from 'vitest'
import { keyOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { services } from '#kube/objects/services.ts'
import { statefulSets, volumeClaims } from '#kube/pods/stateful-set.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { onApiServer } from './on-api-server.ts'
import { objectsOf, shopOn } from './reconciling.ts'

const app = { app: 'shop-of-somebody-else' }
const containers = [{ name: 'app', image: 'app:1' }]
const pod = { metadata: { labels: app }, spec: { containers } }
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const ports = [{ name: 'http', port: 80 }]
const data = { 'tls.crt': 'eA==', 'tls.key': 'eA==', 'ca.crt': 'eA==' }

/** Objects of another application, by the kind and with the name that cluster `shop` needs. */
const others: readonly (readonly [Resource, string, object])[] = [
  [services, 'shop-primary', { spec: { selector: app, ports } }],
  [services, 'shop-replicas', { spec: { selector: app, ports } }],
  [services, 'shop-instances', { spec: { selector: app, ports } }],
  [endpointSlices, 'shop-primary', { addressType: 'IPv4', endpoints: [{ addresses: ['10.1.2.3'] }], ports }],
  [statefulSets, 'shop', { spec: { serviceName: 'shop', selector: { matchLabels: app }, template: pod } }],
  [volumeClaims, 'data-shop-1', { spec: claim }],
  [configMaps, 'shop-agents', { data: { of: 'others' } }],
  [serviceAccounts, 'shop-agents', { automountServiceAccountToken: false }],
  [podDisruptionBudgets, 'shop', { spec: { maxUnavailable: 1, selector: { matchLabels: app } } }],
  [networkPolicies, 'shop', { spec: { podSelector: { matchLabels: app } } }],
  [secrets, 'shop-internal', { data: { 'agent-token': 'eA==' } }],
  [secrets, 'shop-client', { data }],
  [secrets, 'shop-admin', { data }],
  [secrets, 'shop-ca', { data }],
  [secrets, 'shop-certificates', { data }],
]
const kinds = [...new Set(others.map(([resource]) => resource))]

onApiServer('An object of somebody else that has a name of a cluster', (api) => {
  const shop = shopOn(api)
  const make = (resource: Resource, name: string, rest: object): Promise<KubeObject> => {
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
    const metadata = { ...shop.key(name), labels: app }
    return api.client.create(resource, { apiVersion, kind: resource.kind, metadata, ...rest })
  }
  const stored = (resource: Resource, object: KubeObject) => api.client.get(resource, keyOf(object))

  it('is left as it is, whatever its kind; one sentence names all of them, and nothing of the cluster is made', async () => {
    const made = await Promise.all(
      others.map(async ([resource, ...rest]) => [resource, await make(resource, ...rest)] as const),
    )
    await shop.cluster({ networkPolicy: true })
    const { reconcile, showStatus, refusals, writes } = shop.manager()
    await expect(reconcile()).rejects.toThrow(/not of MySQLCluster shop/)
    for (const [resource, object] of made) expect(await stored(resource, object)).toEqual(object)
    expect((await objectsOf(api.client, api.namespace, kinds)).size).toBe(0)
    expect(writes.filter((write) => !write.includes('mysqlclusters'))).toEqual([])
    const sentence = refusals.at(-1) ?? ''
    for (const [resource, name] of others) expect(sentence).toContain(`${resource.kind} ${api.namespace}/${name}`)
    await showStatus()
    expect(JSON.stringify((await shop.stored()).status)).toContain('not of MySQLCluster shop')
  })

  it.each(others.filter(([, name]) => name !== 'data-shop-1'))(
    'and takes the place of one of ours is left, too: $kind %s',
    async (resource, name, rest) => {
      await shop.cluster({ networkPolicy: true })
      const { reconcile, refusals, later } = shop.manager()
      await reconcile()
      later(60_000)
      if ((await api.client.get(resource, shop.key(name))) !== undefined)
        await api.client.delete(resource, shop.key(name), { gracePeriodSeconds: 0 })
      const object = await make(resource, name, rest)
      await reconcile().catch(() => undefined)
      expect(await stored(resource, object)).toEqual(object)
      expect(
        refusals.some((sentence) => sentence.includes(`${resource.kind} ${api.namespace}/${name} is not of`)),
      ).toBe(true)
    },
  )

  it('is taken over where its label hands it over', async () => {
    const service = await make(services, 'shop-primary', { spec: { selector: app, ports } })
    await shop.cluster()
    const { reconcile } = shop.manager()
    await expect(reconcile()).rejects.toThrow(/set the label regent\.dev\/cluster=shop/)
    await api.client.patch(services, keyOf(service), { metadata: { labels: { 'regent.dev/cluster': 'shop' } } })
    await reconcile()
    const after = await api.client.get(services, keyOf(service))
    expect(after?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'MySQLCluster', name: 'shop' })
    expect(after?.spec.selector).toBeUndefined()
  })
})
