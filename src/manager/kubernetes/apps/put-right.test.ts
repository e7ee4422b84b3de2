import { V1DeploymentSpec, V1ServiceSpec } from '@kubernetes/client-node'
import { Value } from 'typebox/value'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonPatchOperation, KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { KubeObject, ObjectKey, Resource } from '#controller-runtime/objects/objects.ts'
import type { App } from '#kube/app/app.ts'
import { appServiceOf, deploymentOf } from '#kube/app/app-objects.ts'
import { appSpecSchema, type AppSpec } from '#kube/app/app-schema.ts'
import { reconcileApp } from './reconcile-app.ts'

const app: App = {
  apiVersion: 'apps.regent.dev/v1',
  kind: 'App',
  metadata: { name: 'web', namespace: 'shops', uid: 'u1', generation: 1 },
  spec: Value.Default(appSpecSchema, {
    ...{ image: 'web:1', ports: [{ port: 80 }], envs: [{ name: 'COLOUR', value: 'green' }] },
    readinessProbe: { tcpSocket: { port: 80 } },
  }) as AppSpec,
}

type Json = unknown
const isObject = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isNamed = (value: Json): value is readonly { readonly name: string }[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => isObject(one) && typeof one['name'] === 'string')

/** Sets what is applied and leaves what others added, as server-side apply does with what they own. */
function merged(live: Json, applied: Json): Json {
  if (isObject(live) && isObject(applied)) {
    const keys = new Set([...Object.keys(live), ...Object.keys(applied)])
    return Object.fromEntries(
      [...keys].map((key) => [key, key in applied ? merged(live[key], applied[key]) : live[key]]),
    )
  }
  if (!isNamed(live) || !isNamed(applied)) return applied
  const others = live.filter(({ name }) => !applied.some((one) => one.name === name))
  return [
    ...applied.map((one) =>
      merged(
        live.find(({ name }) => name === one.name),
        one,
      ),
    ),
    ...others,
  ]
}

function withAt(whole: Json, [key = '', ...rest]: readonly string[], value: Json): Json {
  const part = Array.isArray(whole) ? [...(whole as readonly Json[])] : { ...(whole as object) }
  const parts = part as Record<string, Json>
  if (rest.length > 0) parts[key] = withAt(parts[key], rest, value)
  else if (value === undefined) delete parts[key]
  else parts[key] = value
  return part
}

const container = 'template.spec.containers.0'

/** As RFC 7396 has it. */
function patched(live: Json, patch: Json): Json {
  if (!isObject(patch)) return patch
  const base = isObject(live) ? live : {}
  const all = {
    ...base,
    ...Object.fromEntries(Object.entries(patch).map(([key, one]) => [key, patched(base[key], one)])),
  }
  return Object.fromEntries(Object.entries(all).filter(([, one]) => one !== null))
}

/** An API server with one App; a hand changes what is stored. */
function aCluster(given = app) {
  const stored = new Map<string, KubeObject>()
  let there: App | undefined = given
  const textOf = (kind: string): string => `${kind} ${kind === 'Service' ? (given.spec.service.name ?? 'web') : 'web'}`
  const events: string[] = []
  const at = ({ kind }: Resource, { name }: ObjectKey): string => `${kind} ${name}`
  const put = (text: string, object: unknown): unknown => (
    stored.set(text, object as KubeObject),
    structuredClone(object)
  )
  const client = {
    get: async (resource: Resource, key: ObjectKey) => structuredClone(stored.get(at(resource, key))),
    apply: async (resource: Resource, object: KubeObject, { subresource }: { readonly subresource?: string }) => {
      if (subresource !== undefined) return object
      const text = at(resource, object.metadata as ObjectKey)
      const live = stored.get(text)
      return put(text, merged({ ...live, metadata: { uid: text, resourceVersion: '1', ...live?.metadata } }, object))
    },
    patch: async (resource: Resource, key: ObjectKey, patch: object) => {
      const live = structuredClone(stored.get(at(resource, key))) as unknown as Record<string, Record<string, Json>>
      const template = Array.isArray(patch)
        ? (patch as JsonPatchOperation[]).find(({ path }) => path === '/spec/template')
        : undefined
      const spec =
        template === undefined
          ? patched(live['spec'], (patch as { readonly spec: object }).spec)
          : { ...live['spec'], template: valueOf(template) }
      return put(at(resource, key), { ...live, spec })
    },
    list: async () => ({ items: [] }),
  } as unknown as KubeClient
  /** A manager that begins remembers nothing. */
  const aManager = () =>
    reconcileApp({
      client,
      clock: { wallMs: () => 0, monotonicMs: () => 0 },
      apps: { get: () => there } as unknown as InformerPort<App>,
      leads: () => true,
      recorder: { record: ({ reason, note }) => events.push(`${reason}: ${note}`) },
    })
  let reconcile = aManager()
  return {
    events,
    begin: () => void (reconcile = aManager()),
    /** Takes the App away, and leaves its objects there. */
    orphan: () => void (there = undefined),
    make: () => void (there = given),
    spec: (kind: string) => structuredClone(stored.get(textOf(kind)) as KubeObject & { readonly spec: object }).spec,
    /** Sets what is at a path of the spec; takes it away where `value` is undefined. */
    change: (kind: string, path: string, value: Json) => {
      const live = stored.get(textOf(kind)) as KubeObject & { readonly spec: Json }
      put(textOf(kind), { ...live, spec: withAt(live.spec, path.split('.'), value) })
    },
    reconcile: () => reconcile({ namespace: 'shops', name: 'web' }, new AbortController().signal),
  }
}

function valueOf(operation: JsonPatchOperation): unknown {
  return (operation as { readonly value: unknown }).value
}

describe('What a hand changes of an App’s objects is put right, and told:', () => {
  let cluster: ReturnType<typeof aCluster>
  beforeEach(async () => {
    cluster = aCluster()
    await cluster.reconcile()
    expect(cluster.events).toEqual([])
  })

  it.each<readonly [string, string, string, unknown]>([
    ['a pause', 'Deployment', 'paused', true],
    ['the number of pods', 'Deployment', 'replicas', 0],
    ['the strategy', 'Deployment', 'strategy', { type: 'Recreate' }],
    ['how soon a pod counts', 'Deployment', 'minReadySeconds', 86_400],
    ['how long a roll-out may take', 'Deployment', 'progressDeadlineSeconds', 1],
    ['what is kept of before', 'Deployment', 'revisionHistoryLimit', 0],
    ['a label of the pods', 'Deployment', 'template.metadata.labels', {}],
    ['the image', 'Deployment', `${container}.image`, 'other:1'],
    ['a variable', 'Deployment', `${container}.env.0.value`, 'red'],
    ['a probe that is gone', 'Deployment', `${container}.readinessProbe`, undefined],
    ['a variable more', 'Deployment', `${container}.env.1`, { name: 'LD_PRELOAD', value: 'x' }],
    ['a container more', 'Deployment', 'template.spec.containers.1', { name: 'miner' }],
    ['the host’s network', 'Deployment', 'template.spec.hostNetwork', true],
    ['pods that are not ready', 'Service', 'publishNotReadyAddresses', true],
    ['a session’s stickiness', 'Service', 'sessionAffinity', 'ClientIP'],
    ['where traffic may go', 'Service', 'internalTrafficPolicy', 'Local'],
    ['the selector', 'Service', 'selector', { 'apps.regent.dev/app': 'other' }],
    ['a word more in the selector', 'Service', 'selector.version', 'old'],
    ['another name', 'Service', 'externalName', 'elsewhere.example'],
  ])('%s', async (_, kind, path, value) => {
    const before = cluster.spec(kind)
    cluster.change(kind, path, value)
    await cluster.reconcile()
    expect(cluster.spec(kind)).toEqual(kind === 'Service' ? before : expect.objectContaining(before))
    expect(cluster.events).toEqual([expect.stringMatching(`^PutRight: ${kind} web (was changed|had what)`)])
    await cluster.reconcile()
    expect(cluster.events, 'once').toHaveLength(1)
  })

  it('what `kubectl rollout restart` leaves stays', async () => {
    const restarted = { 'kubectl.kubernetes.io/restartedAt': 'now' }
    cluster.change('Deployment', 'template.metadata.annotations', restarted)
    await cluster.reconcile()
    expect(cluster.spec('Deployment')).toMatchObject({ template: { metadata: { annotations: restarted } } })
    expect(cluster.events).toEqual([])
  })
})

it('A pause from before this manager is told, too', async () => {
  const cluster = aCluster()
  await cluster.reconcile()
  cluster.change('Deployment', 'paused', true)
  cluster.begin()
  await cluster.reconcile()
  expect(cluster.events).toEqual(['PutRight: Deployment web was changed by somebody else: paused. It is put right'])
})

it('Nothing is remembered of an App that is gone, whatever the name of its Service is', async () => {
  const cluster = aCluster({ ...app, spec: { ...app.spec, service: { ...app.spec.service, name: 'shop' } } })
  await cluster.reconcile()
  cluster.orphan()
  await cluster.reconcile()
  cluster.change('Deployment', 'replicas', 0)
  cluster.change('Service', 'sessionAffinity', 'ClientIP')
  cluster.make()
  await cluster.reconcile()
  expect(cluster.spec('Service')).toMatchObject({ sessionAffinity: 'None' })
  expect(cluster.events, 'nobody knows who had these otherwise').toEqual([])
})

it('Each field of a Deployment is said: what is not sent is not put right', () => {
  const { spec } = deploymentOf(app)
  const fields = V1DeploymentSpec.getAttributeTypeMap().map(({ name }) => name)
  expect(fields).toContain('paused')
  expect(fields.filter((field) => !(field in spec))).toEqual([])
})

/** How traffic comes to a Service is for others to say: cloud, addresses, families, the source that pods see. */
const forOthers = [
  ...['allocateLoadBalancerNodePorts', 'clusterIP', 'clusterIPs', 'externalIPs', 'externalTrafficPolicy'],
  ...['healthCheckNodePort', 'ipFamilies', 'ipFamilyPolicy', 'loadBalancerClass', 'loadBalancerIP'],
  ...['loadBalancerSourceRanges', 'trafficDistribution'],
]
/** What cannot stand beside what is said, or is taken away. */
const takenAway = ['externalName', 'sessionAffinityConfig']

it('Each field of a Service is said, or taken away, or for others to say', () => {
  const fields = V1ServiceSpec.getAttributeTypeMap().map(({ name }) => name)
  const said = Object.keys(appServiceOf(app)?.spec ?? {})
  expect(fields.filter((field) => ![...said, ...takenAway, ...forOthers].includes(field))).toEqual([])
})
