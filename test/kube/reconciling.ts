import { expect, onTestFinished } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { leaderClient } from '#controller-runtime/leader/leadership.ts'
import { keyOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { selectorTextOf } from '#kube/names/names.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { EndpointSlice } from '#kube/primary/primary-endpoints.ts'
import { secrets, type Secret } from '#kube/secrets/secrets.ts'
import { pods, statefulSets, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { ClusterSet } from '#manager/kubernetes/loops/cluster-set.ts'
import { ours } from '#manager/kubernetes/controllers.ts'
import { keeperOfSets } from '#manager/kubernetes/objects/keep-template.ts'
import { reconcileCluster } from '#manager/kubernetes/reconcile-cluster.ts'
import { reconcileStatus } from '#manager/kubernetes/reconcile-status.ts'
import { createMetrics } from '#manager/clusters/metrics.ts'
import type { Capability, KubernetesManagerOptions } from '#manager/options/schema.ts'
import { patienceMs } from '../support/patience.ts'
import type { OnApiServer } from './on-api-server.ts'

export interface ManagerShape {
  readonly leads?: boolean
  readonly applyOnce?: KubernetesManagerOptions['reconcile']['applyOnce']
  readonly disabled?: readonly Capability[]
  /** Null: it has no default. */
  readonly image?: string | null
}

/**
 * The reconcilers of one manager on a real API server. Its caches are filled from etcd before each run, so that a test
 * says when what is seen.
 */
export function aManager(
  client: KubeClient,
  namespace: string,
  { leads = true, applyOnce = 'off', disabled = ['podMonitors'], image = 'mysql:8.4.6' }: ManagerShape = {},
) {
  const key = { namespace, name: 'shop' }
  const writes: string[] = []
  const leading = { now: leads }
  const counted = leaderClient(counting(client, writes), {
    lost: new AbortController().signal,
    holds: () => leading.now,
  })
  const clusters = testingInformer<MySQLCluster>('mysqlclusters')
  const podInformer = testingInformer<Pod>('pods')
  const sets = testingInformer<StatefulSet>('statefulsets')
  const secretInformer = testingInformer<Secret>('secrets')
  const log = createLogger({ level: 'error', name: 'manager', destination: { write: () => undefined } })
  const refusals: string[] = []
  // What is shown stands back for a second while a cluster is made; here that second is over.
  let aheadMs = 1_000
  const { clock } = realWorld
  const afterRecoveries = {
    ...clock,
    wallMs: () => clock.wallMs() + aheadMs,
    monotonicMs: () => clock.monotonicMs() + aheadMs,
  }
  const parts = {
    client: counted,
    clock: realWorld.clock,
    clusters,
    pods: podInformer,
    statefulSets: sets,
    leads: () => leading.now,
  }
  const set = new ClusterSet({
    ...parts,
    world: realWorld,
    slices: testingInformer<EndpointSlice>('endpointslices'),
    configMaps: testingInformer<ConfigMap>('configmaps'),
    secrets: secretInformer,
    manager: 'm1',
    log,
    metrics: createMetrics(),
  })
  const options = {
    reconcile: { concurrent: 1, applyOnce, disabledCapabilities: [...disabled] },
    images: { regent: 'regent:1', pullPolicy: 'IfNotPresent' as const, ...(image !== null && { mysql: image }) },
  }
  const objects = {
    client: counted,
    world: realWorld,
    managerNamespace: 'regent',
    managerAuthority: () => 'the authority of the managers',
    disabled: new Set(disabled),
    templates: keeperOfSets({ client: counted, clock: realWorld.clock }),
    authorities: new Map<string, Secret>(),
    recorded: (of: typeof key) => set.recorded(of),
  }
  const told: string[] = []
  const putRight: string[] = []
  const events = {
    refused: (_key: object, trouble: string) => void refusals.push(trouble),
    forget: () => undefined,
    passwords: (_key: object, what: string, note: string) => void told.push(`${what}: ${note}`),
    putRight: (_key: object, what: string) => void putRight.push(what),
  }
  const bring = reconcileCluster({ ...parts, set, options, objects, events, applied: () => undefined })
  const show = reconcileStatus({
    ...parts,
    set,
    clock: afterRecoveries,
    putRight: (_key, what) => void putRight.push(what),
  })
  const signal = new AbortController().signal

  const fill = async <Kind extends KubeObject>(
    resource: Resource<Kind>,
    informer: ReturnType<typeof testingInformer<Kind>>,
    selected: { readonly labelSelector?: string } = {},
  ): Promise<void> => {
    const { items } = await client.list(resource, { namespace, ...selected })
    for (const gone of informer
      .list()
      .filter(({ metadata }) => !items.some((item) => item.metadata.name === metadata.name)))
      informer.delete(gone)
    for (const item of items) informer.put({ ...item, apiVersion: item.apiVersion ?? '', kind: item.kind ?? '' })
  }
  const look = async (): Promise<void> => {
    await Promise.all([fill(pods, podInformer, ours), fill(statefulSets, sets), fill(secrets, secretInformer)])
    const cluster = await client.get(mysqlClusters, key)
    const known = clusters.get(key)
    if (cluster !== undefined) clusters.put(cluster)
    else if (known !== undefined) clusters.delete(known)
  }
  return {
    key,
    writes,
    /** For what is shown: so much time has passed. */
    later: (ms: number) => void (aheadMs += ms),
    refusals,
    /** Of rotations of passwords. */
    told,
    /** What others had added, and was taken away. */
    putRight,
    set,
    leading,
    /** As often as the controller would until it has brought everything in step. */
    reconcile: async (times = 2) => {
      let result
      for (let time = 0; time < times; time += 1) {
        await look()
        result = await bring(key, signal)
      }
      set.lead(leading.now)
      return result
    },
    /** Once the loop has decided something, where it leads. */
    showStatus: async () => {
      const isUndecided = () => leading.now && set.get(key)?.loop.decision === null
      for (
        const untilMs = performance.now() + patienceMs;
        performance.now() < untilMs && isUndecided();
        await realWorld.timers.sleep(20)
      );
      await look()
      return show(key, signal)
    },
    close: () => set.removeAll(),
  }
}

/** The MySQLCluster `shop` in the namespace of a test, and managers of it, which are closed when that test ends. */
export function shopOn(api: OnApiServer) {
  const key = (name = 'shop') => ({ namespace: api.namespace, name })
  return {
    key,
    manager: (shape?: ManagerShape) => {
      const made = aManager(api.client, api.namespace, shape)
      onTestFinished(() => made.close())
      return made
    },
    cluster: (spec: object = {}) =>
      api.client.create(mysqlClusters, {
        apiVersion: 'regent.dev/v1alpha1',
        kind: 'MySQLCluster',
        metadata: key(),
        spec: { instances: 3, storage: { size: '1Gi' }, ...spec } as MySQLCluster['spec'],
      }),
    change: (spec: object) => api.client.patch(mysqlClusters, key(), { spec }),
    stored: async () => (await api.client.get(mysqlClusters, key())) ?? expect.fail('no cluster'),
  }
}

/** Notes every write as `apply services shop-primary`. */
function counting(client: KubeClient, writes: string[]): KubeClient {
  const note = (verb: string, { plural }: Resource, name: string): void => void writes.push(`${verb} ${plural} ${name}`)
  return {
    get: (resource, key, options) => client.get(resource, key, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    create: (resource, object, options) => (
      note('create', resource, object.metadata.name),
      client.create(resource, object, options)
    ),
    update: (resource, object, options) => (
      note('update', resource, object.metadata.name),
      client.update(resource, object, options)
    ),
    apply: (resource, object, options) => (
      note('apply', resource, object.metadata.name),
      client.apply(resource, object, options)
    ),
    patch: (resource, key, patch, options) => (
      note('patch', resource, key.name),
      client.patch(resource, key, patch, options)
    ),
    delete: (resource, key, options) => (note('delete', resource, key.name), client.delete(resource, key, options)),
  }
}

/** Every object of the cluster, by kind and name. */
export async function objectsOf(
  client: KubeClient,
  namespace: string,
  kinds: readonly Resource[],
): Promise<ReadonlyMap<string, KubeObject>> {
  const lists = await Promise.all(
    kinds.map(async (kind) => ({
      kind,
      items: (await client.list(kind, { namespace, labelSelector: selectorTextOf('shop') })).items,
    })),
  )
  return new Map(
    lists.flatMap(({ kind, items }) => items.map((item) => [`${kind.kind} ${keyOf(item).name}`, item] as const)),
  )
}
