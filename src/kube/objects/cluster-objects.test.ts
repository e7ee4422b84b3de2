import { describe, expect, it } from 'vitest'
import { passwordFor } from '#common/mysql/account-password.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { agentConfigOf } from './agent-config.ts'
import { disruptionBudgetOf } from './disruption-budget.ts'
import { networkPolicyOf } from './network-policy.ts'
import { podMonitorOf } from './pod-monitor.ts'
import { podTemplateOf } from '../pods/pod-template.ts'
import { dataOf, secretsOf, type Secret } from '../secrets/secrets.ts'
import { serviceAccountOf } from './service-account.ts'
import { servicesOf } from './services.ts'
import { aCluster } from '../testing.ts'

const byName = <Kind extends { readonly metadata: { readonly name: string } }>(objects: readonly Kind[]) =>
  new Map(objects.map((one) => [one.metadata.name, one]))
const text = (secret: Secret | undefined, key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString()

describe('the Services of a cluster', () => {
  it('leave the primary’s endpoints to Regent, and name the instances before they are ready', () => {
    const services = byName(servicesOf(aCluster()))
    expect([...services.keys()]).toEqual(['shop-primary', 'shop-replicas', 'shop-instances'])
    expect(services.get('shop-primary')?.spec).not.toHaveProperty('selector')
    expect(services.get('shop-replicas')?.spec.selector).toEqual({
      'regent.dev/cluster': 'shop',
      'regent.dev/reads': 'open',
    })
    expect(services.get('shop-instances')?.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
  })

  it('select the primary by its label where that is asked for', () => {
    const services = byName(servicesOf(aCluster({ services: { routing: 'labels' } })))
    expect(services.get('shop-primary')?.spec.selector).toEqual({
      'regent.dev/cluster': 'shop',
      'regent.dev/role': 'primary',
    })
  })

  it('are what the spec says of them', () => {
    const primary = {
      type: 'LoadBalancer',
      port: 3307,
      annotations: { 'example.org/lb': 'internal' },
      loadBalancerClass: 'example.org/l4',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
    }
    const found = byName(servicesOf(aCluster({ services: { primary } }))).get('shop-primary')
    expect(found?.metadata.annotations).toEqual(primary.annotations)
    expect(found?.spec).toMatchObject({
      type: 'LoadBalancer',
      loadBalancerClass: 'example.org/l4',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      ports: [{ port: 3307, targetPort: 3306 }],
    })
  })

  it('ask for addresses of both families where that is said of the replicas, and nothing where nothing is said', () => {
    const policyOf = (replicas: object) =>
      byName(servicesOf(aCluster({ services: { replicas } }))).get('shop-replicas')?.spec.ipFamilyPolicy
    expect(policyOf({ ipFamilyPolicy: 'PreferDualStack' })).toBe('PreferDualStack')
    expect(policyOf({})).toBeUndefined()
  })
})

describe('the Secrets of a cluster', () => {
  const first = byName(secretsOf(aCluster(), new Map(), realRandom))

  it('hold all that a client needs', () => {
    const client = first.get('shop-client')
    const password = text(client, 'password')
    expect(password).toMatch(/^[\w-]{32}$/)
    expect(client?.type).toBe('servicebinding.io/mysql')
    expect(Object.keys(client?.data ?? {})).toEqual([
      'type',
      'provider',
      'host',
      'port',
      'username',
      'password',
      'database',
      'uri',
    ])
    expect(text(client, 'uri')).toBe(`mysql://client:${password}@shop-primary.shops.svc:3306/app`)
  })

  it('stay as they are when they are made again', () => {
    expect(byName(secretsOf(aCluster(), first, realRandom))).toEqual(first)
  })

  it('come back with the same passwords where one was deleted: all follow from one secret', () => {
    const rest = new Map([...first].filter(([name]) => name === 'shop-internal'))
    expect(byName(secretsOf(aCluster(), rest, realRandom))).toEqual(first)
  })

  it('have the passwords of the generation that was brought about last', () => {
    const internal = first.get('shop-internal') ?? expect.fail('no Secret')
    const rotated = {
      ...internal,
      data: { ...internal.data, 'password-generation': Buffer.from('a2').toString('base64') },
    }
    const made = byName(secretsOf(aCluster(), new Map([['shop-internal', rotated]]), realRandom))
    for (const name of ['shop-client', 'shop-admin'])
      expect(text(made.get(name), 'password')).not.toBe(text(first.get(name), 'password'))
    expect(text(made.get('shop-client'), 'password')).toBe(
      passwordFor(text(internal, 'account-secret'), 'client', 'a2'),
    )
    expect(made.get('shop-internal')).toEqual(internal)
  })

  it('hold the authority by which clients know the servers, where the Secret of spec.tls has it', () => {
    const given = (texts: Readonly<Record<string, string>>): Secret => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop-tls' },
      data: dataOf(texts),
    })
    const client = (secret: Secret) =>
      byName(
        secretsOf(aCluster({ tls: { secretName: 'shop-tls' } }), new Map([[secret.metadata.name, secret]]), realRandom),
      ).get('shop-client')
    expect(text(client(given({ 'ca.crt': 'the authority', 'tls.key': 'the key' })), 'ca.crt')).toBe('the authority')
    expect(client(given({ 'tls.key': 'the key' }))?.data).not.toHaveProperty('ca.crt')
  })

  it('are other ones in another cluster', () => {
    const other = byName(secretsOf(aCluster(), new Map(), realRandom))
    expect(text(other.get('shop-client'), 'password')).not.toBe(text(first.get('shop-client'), 'password'))
  })

  it('stay without their cluster where its volumes do, and go with it where those go', () => {
    const owners = (whenDeleted: string) =>
      secretsOf(aCluster({ volumes: { whenDeleted } }), new Map(), realRandom).map(
        ({ metadata }) => metadata.ownerReferences?.length ?? 0,
      )
    expect([owners('Retain'), owners('Delete')]).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ])
  })
})

describe('what else a cluster becomes', () => {
  const all = [
    ...servicesOf(aCluster()),
    agentConfigOf(aCluster()),
    podMonitorOf(aCluster()),
    disruptionBudgetOf(aCluster()),
    serviceAccountOf(aCluster()),
    networkPolicyOf(aCluster(), 'regent'),
  ]

  it('goes with it, and says whose it is', () => {
    for (const { metadata } of all) {
      expect(metadata).toMatchObject({
        namespace: 'shops',
        ownerReferences: [{ kind: 'MySQLCluster', name: 'shop', uid: 'u1', controller: true }],
        labels: { 'regent.dev/cluster': 'shop', 'app.kubernetes.io/managed-by': 'regent' },
      })
    }
  })

  it('lets one instance be evicted at a time, and always one that is not ready', () => {
    expect(disruptionBudgetOf(aCluster()).spec).toMatchObject({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    })
  })

  it('gives the pods no way to the API server', () => {
    expect(serviceAccountOf(aCluster()).automountServiceAccountToken).toBe(false)
  })

  it('lets clients reach MySQL only, and managers and instances the agents', () => {
    const [clients, agents] = networkPolicyOf(aCluster(), 'regent').spec.ingress
    expect(clients).toEqual({ ports: [{ port: 3306, protocol: 'TCP' }] })
    expect(agents?.ports).toEqual([{ port: 9400, protocol: 'TCP' }])
    expect(agents?.from).toHaveLength(2)
  })

  it('lets the routers of a cluster reach the agents, where there are routers', () => {
    const [, agents] = networkPolicyOf(aCluster({ router: {} }), 'regent').spec.ingress
    const labels = { 'apps.regent.dev/app': 'shop-router' }
    expect(agents?.from).toHaveLength(3)
    expect(agents?.from).toContainEqual({ podSelector: { matchLabels: labels } })
  })

  it('lets managers and instances reach lifecycle actions where agents serve them', () => {
    const serving = aCluster({ lifecycle: { open: true, port: 3601 } })
    const [, agents] = networkPolicyOf(serving, 'regent').spec.ingress
    expect(agents?.ports.map(({ port }) => port)).toEqual([9400, 3601, 3502])
  })

  it('lets Prometheus reach the metrics, and nothing else of an agent, where they are to be monitored', () => {
    const monitored = aCluster({ podMonitor: true })
    expect(networkPolicyOf(monitored, 'regent').spec.ingress[2]).toEqual({ ports: [{ port: 9401, protocol: 'TCP' }] })
    const [endpoint] = podMonitorOf(monitored).spec.podMetricsEndpoints
    const ports = podTemplateOf(monitored, { mysql: 'mysql:8.4', regent: 'regent:1' }).spec?.initContainers?.flatMap(
      (container) => container.ports ?? [],
    )
    expect(ports?.find(({ name }) => name === endpoint?.port)).toMatchObject({ containerPort: 9401 })
    expect(endpoint?.path).toBe('/metrics')
  })
})
