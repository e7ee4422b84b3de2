import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import { deleteObject } from '#controller-runtime/changes/delete-object.ts'
import { isAlreadyExists, isConflict, isInvalid } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { listInPages } from '#controller-runtime/client/list-pages.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '#controller-runtime/objects/objects.ts'
import { applyObject } from '#controller-runtime/changes/server-side-apply.ts'
import { addedToService, strangersAmong } from '#kube/primary/added-by-others.ts'
import { agentConfigOf, podPaths } from '#kube/objects/agent-config.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { apps } from '#kube/app/app.ts'
import { certificatesOf } from '#kube/certificates/cluster-certificates.ts'
import { disruptionBudgetOf, podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { fieldManager, namesOf, selectorTextOf } from '#kube/names/names.ts'
import { networkPolicies, networkPolicyOf } from '#kube/objects/network-policy.ts'
import { podMonitorOf, podMonitors } from '#kube/objects/pod-monitor.ts'
import { agentContainer, type PodImages } from '#kube/pods/pod-template.ts'
import { endpointSlices, serviceName } from '#kube/primary/primary-endpoints.ts'
import { quantityOf } from '#kube/spec/quantity.ts'
import { passwordGeneration, secrets, secretsOf, textIn, type Secret } from '#kube/secrets/secrets.ts'
import { routerAppOf, routerBudgetOf, routerConfigOf } from '#kube/router/router-objects.ts'
import { serviceAccountOf, serviceAccounts } from '#kube/objects/service-account.ts'
import { services, servicesOf, type Service } from '#kube/objects/services.ts'
import {
  scaleManager,
  scaleOf,
  statefulSetOf,
  statefulSets,
  volumeClaims,
  type PersistentVolumeClaim,
  type StatefulSet,
} from '#kube/pods/stateful-set.ts'
import { applyOverOthers } from './apply-over-others.ts'
import { refuseUselessStore } from './backup-secrets.ts'
import { refuseMissingSecrets } from './missing-secrets.ts'
import { keepReads } from './keep-reads.ts'
import type { TemplateKeeper } from './keep-template.ts'
import { clientCertificateOf, refuseNewCertificate } from './client-certificate.ts'
import { ofThis, refuseForeign } from './foreign-objects.ts'
import type { Capability } from '#manager/options/schema.ts'

export interface ClusterObjectsParts {
  readonly client: KubeClient
  readonly world: Pick<World, 'clock' | 'random'>
  readonly images: PodImages
  /** Where the managers run: who may reach the agents. */
  readonly managerNamespace: string
  /** The authority of the managers, as routers are to know it; '' before there is one. */
  readonly managerAuthority: () => string
  readonly disabled: ReadonlySet<Capability>
  /** What others changed or deleted is left so: never of a new cluster. */
  readonly yields: boolean
  /** What others had added was taken away, in a sentence. */
  readonly putRight: (sentence: string) => void
  readonly templates: Pick<TemplateKeeper<StatefulSet>, 'keep' | 'forget'>
  /** So many instances there are for each that the record names to be among them, read anew; 0 where there is none. */
  readonly recorded: (cluster: ObjectKey) => Promise<number>
  /** The Secrets with the clusters' authorities as they were made last, by cluster: for where somebody deletes one. */
  readonly authorities: Map<string, Secret>
}

/** Brings everything a cluster becomes in step with its spec. In this order: what pods need comes before them. */
export async function applyClusterObjects(
  parts: ClusterObjectsParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  if ((cluster.status?.epoch ?? 0) === 0) await refuseForeign(parts, cluster, signal)
  await refuseNewCertificate({ client: parts.client, clock: parts.world.clock }, cluster, signal)
  await ensureSecrets(parts, cluster, signal)
  await keepCertificates(parts, cluster, signal)
  await keepReads(parts.client, cluster, signal)
  const apply = <Kind extends KubeObject>(resource: Resource<Kind>, object: KubeObject) =>
    applyOne(parts, resource, object, { cluster, signal })
  await Promise.all([
    apply(serviceAccounts, serviceAccountOf(cluster)),
    apply(configMaps, agentConfigOf(cluster)),
    ...servicesOf(cluster).map((service) => applyService(parts, service, { cluster, signal })),
  ])
  await removeStrangers(parts, cluster, signal)
  await applyStatefulSet(parts, cluster, signal)
  await Promise.all([
    growVolumes(parts.client, cluster, signal),
    applyOptional(parts, cluster, signal),
    applyRouter(parts, cluster, signal),
  ])
}

/** What is disabled is not even looked at: the right to it may be missing, or the kind. */
async function applyOptional(parts: ClusterObjectsParts, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { disabled, managerNamespace } = parts
  const { networkPolicy, podMonitor } = cluster.spec
  if (!disabled.has('disruptionBudgets'))
    await applyOne(parts, podDisruptionBudgets, disruptionBudgetOf(cluster), { cluster, signal })
  if (!disabled.has('networkPolicies'))
    await applyOrRemove(parts, networkPolicies, networkPolicyOf(cluster, managerNamespace), {
      cluster,
      signal,
      wanted: networkPolicy,
    })
  if (!disabled.has('podMonitors'))
    await applyOrRemove(parts, podMonitors, podMonitorOf(cluster), { cluster, signal, wanted: podMonitor })
}

/** The router is an App. What it reads comes before it; it goes before what it reads. */
async function applyRouter(parts: ClusterObjectsParts, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { images, disabled, managerNamespace: namespace, managerAuthority } = parts
  const wanted = cluster.spec.router !== undefined
  // Without a router only the names of these count.
  const router = cluster.spec.router ?? { replicas: 0, ports: { write: 3306, read: 3307 }, service: noService }
  const app = routerAppOf(cluster, router, images.regent)
  if (!wanted) await applyOrRemove(parts, apps, app, { cluster, signal, wanted })
  const config = routerConfigOf(cluster, router, { namespace, ca: managerAuthority() })
  await applyOrRemove(parts, configMaps, config, { cluster, signal, wanted })
  if (!disabled.has('disruptionBudgets'))
    await applyOrRemove(parts, podDisruptionBudgets, routerBudgetOf(cluster), { cluster, signal, wanted })
  if (wanted) await applyOne(parts, apps, app, { cluster, signal })
}

const noService = { type: 'ClusterIP', annotations: {} } as const

/** The bearer token of a cluster's agents; undefined while it is not made yet. */
export async function agentTokenOf(
  client: Pick<KubeClient, 'get'>,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  return textIn(
    await client.get(secrets, { ...keyOf(cluster), name: namesOf(cluster.metadata.name).internal }, { signal }),
    'agent-token',
  )
}

interface Applying {
  readonly cluster: MySQLCluster
  readonly signal: AbortSignal
}

/**
 * The object as it is then; undefined where it is left as others made it. Throws `REGENT_REFUSED` where an object of
 * somebody else has its name: an apply would take that object over, and its owner reference would delete it with the
 * cluster.
 */
async function applyOne<Kind extends KubeObject>(
  { client, yields }: Pick<ClusterObjectsParts, 'client' | 'yields'>,
  resource: Resource<Kind>,
  object: KubeObject,
  { cluster, signal }: Applying,
): Promise<Kind | undefined> {
  const live = await client.get(resource, keyOf(object), { signal })
  if (live === undefined && yields) return undefined
  try {
    return await applyObject(client, resource, ofThis(cluster, object, live), { fieldManager, force: !yields, signal })
  } catch (error) {
    if (!yields || !isConflict(error)) throw error
    return undefined
  }
}

/**
 * An apply takes nothing away that others added: a selector on the primary's Service would lead its clients to
 * replicas.
 */
async function applyService(parts: ClusterObjectsParts, service: Service, applying: Applying): Promise<void> {
  const { client, yields, putRight } = parts
  const { signal } = applying
  const live = await appliedService(parts, service, applying)
  const added = live === undefined || yields ? undefined : addedToService(service, live)
  if (added === undefined) return
  await client.patch(services, keyOf(service), { spec: added.spec }, { fieldManager, signal })
  putRight(
    `Service ${service.metadata.name} had what is not Regent’s, and clients would have been led by it: ${added.what}. It is taken away`,
  )
}

/** Undefined where somebody else may have it otherwise. */
async function appliedService(
  parts: ClusterObjectsParts,
  service: Service,
  applying: Applying,
): Promise<Service | undefined> {
  const { client, yields } = parts
  const apply = () => applyOne(parts, services, service, applying)
  if (!yields) return applyOverOthers(service, apply, { client, signal: applying.signal })
  return apply().catch((error: unknown) => {
    if (isInvalid(error)) return undefined
    throw error
  })
}

/** The old kind of endpoints too: Kubernetes makes slices of it for a Service that has no selector. */
const endpoints: Resource = { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true }

/** Removes endpoints of the primary's Service beside the primary. */
async function removeStrangers(
  { client, yields, putRight }: ClusterObjectsParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  if (yields) return
  const { routing } = cluster.spec.services
  const key = { ...keyOf(cluster), name: namesOf(cluster.metadata.name).primary }
  const ofService = { namespace: key.namespace, labelSelector: `${serviceName}=${key.name}`, signal }
  const { objects: slices } = await listInPages(client, endpointSlices, ofService)
  // First: its slices would be made again.
  const mirrored = routing === 'labels' ? undefined : await client.get(endpoints, key, { signal })
  if (mirrored !== undefined) await deleteObject(client, endpoints, mirrored, { signal })
  const strangers = strangersAmong(slices, key.name, routing)
  for (const stranger of strangers) await deleteObject(client, endpointSlices, stranger, { signal })
  const names = [
    ...(mirrored === undefined ? [] : [`Endpoints ${key.name}`]),
    ...strangers.map(({ metadata }) => `EndpointSlice ${metadata.name}`),
  ]
  if (names.length > 0)
    putRight(`${names.join(', ')} led clients of Service ${key.name} elsewhere than to the primary: deleted`)
}

/** Read from etcd, never from a cache: a password that is made a second time locks everybody out. */
async function ensureSecrets(parts: ClusterObjectsParts, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { client } = parts
  const { internal } = namesOf(cluster.metadata.name)
  const key = { ...keyOf(cluster), name: internal }
  const found =
    (await client.get(secrets, key, { signal })) ??
    (await createInternal(parts, cluster, signal)) ??
    (await client.get(secrets, key, { signal }))
  if (found === undefined) return
  await applySecrets(parts, cluster, { internal: found, signal })
}

/** @param internal as it is in etcd: the other Secrets follow from it */
export async function applySecrets(
  parts: Pick<ClusterObjectsParts, 'client' | 'world' | 'yields'>,
  cluster: MySQLCluster,
  { internal, signal }: { readonly internal: Secret; readonly signal: AbortSignal },
): Promise<void> {
  const known = [internal, await clientCertificateOf(parts.client, cluster, signal)].flatMap((secret) =>
    secret === undefined ? [] : [[secret.metadata.name, secret] as const],
  )
  for (const secret of secretsOf(cluster, new Map(known), parts.world.random)) {
    const live = await applyOne(parts, secrets, secret, { cluster, signal })
    if (live !== undefined && secret.metadata.ownerReferences === undefined)
      await disown(parts.client, live, { cluster, signal })
  }
}

/**
 * An apply leaves the owner reference of a Secret that a create made: the create is another owner of that field. The
 * passwords would go with the cluster, and the volumes stay.
 */
async function disown(client: KubeClient, live: Secret, { cluster, signal }: Applying): Promise<void> {
  const { uid, resourceVersion, ownerReferences: owners = [] } = live.metadata
  const others = owners.filter((owner) => owner.uid !== cluster.metadata.uid)
  if (others.length === owners.length) return
  const patch = { metadata: { uid, resourceVersion, ownerReferences: others } }
  await client.patch(secrets, keyOf(live), patch, { fieldManager, signal })
}

/** Undefined where somebody else made it at this moment. */
async function createInternal(
  { client, world }: ClusterObjectsParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  const { namespace, name } = cluster.metadata
  const claims = await claimsOf(client, cluster, signal)
  if ((cluster.status?.epoch ?? 0) > 0 || claims.some(({ metadata }) => metadata.deletionTimestamp === undefined)) {
    const secret = say`${podPaths.secrets}/account-secret`
    const inPods = say`kubectl -n ${namespace} exec ${name}-0 -c ${agentContainer} -- cat ${secret}, and agent-token beside it; ${passwordGeneration} only from a backup`
    const remedy = say`Make it again from a backup or from a running pod (${inPods}); for a new cluster without the old data delete the volume claims first`
    const { internal } = namesOf(name)
    const passwords = say`the servers on the cluster's volumes know the passwords that were made from it`
    throw new RegentError(
      'REGENT_REFUSED',
      say`Secret ${namespace}/${internal} is gone, and ${passwords}: a new one would lock everybody out. ${remedy}`,
    )
  }
  const [secret] = secretsOf(cluster, new Map(), world.random)
  if (secret === undefined) return undefined
  try {
    return await client.create(secrets, secret, { fieldManager, signal })
  } catch (error) {
    if (isAlreadyExists(error)) return undefined
    throw error
  }
}

/** Made once, renewed when due; agents take new ones without a restart. */
export async function keepCertificates(
  { client, world, authorities }: ClusterObjectsParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  const { authority, certificates } = namesOf(cluster.metadata.name)
  const found = await Promise.all(
    [authority, certificates].map((name) => client.get(secrets, { ...keyOf(cluster), name }, { signal })),
  )
  const existing = new Map(
    found.flatMap((secret) => (secret === undefined ? [] : [[secret.metadata.name, secret] as const])),
  )
  const text = keyText(keyOf(cluster))
  const isOfIt = ({ metadata }: Secret): boolean =>
    metadata.ownerReferences?.some(({ uid }) => uid === cluster.metadata.uid) ?? false
  const moment = { wallMs: world.clock.wallMs(), random: world.random }
  const wanted = await certificatesOf(
    cluster,
    existing,
    moment,
    [authorities.get(text)].find((one) => one !== undefined && isOfIt(one)),
  )
  for (const secret of wanted) if (secret.metadata.name === authority) authorities.set(text, secret)
  for (const secret of wanted)
    await applyObject(client, secrets, ofThis(cluster, secret, existing.get(secret.metadata.name)), {
      fieldManager,
      signal,
    })
}

async function applyStatefulSet(parts: ClusterObjectsParts, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { client, images, yields } = parts
  const key = { ...keyOf(cluster), name: namesOf(cluster.metadata.name).statefulSet }
  const existing = await client.get(statefulSets, key, { signal })
  const set = statefulSetOf(cluster, images, existing)
  await refuseMissingSecrets(client, { next: set, before: existing }, signal)
  await refuseUselessStore(client, cluster, { next: set, before: existing }, signal)
  if (existing !== undefined || yields) {
    const live = await applyOne(parts, statefulSets, set, { cluster, signal })
    const sentence = live === undefined || yields ? '' : await parts.templates.keep(set, live, signal)
    if (sentence !== '') parts.putRight(sentence)
    return
  }
  // Instances that a scale-in was to take, and that had not left yet, may be the primary, or hold what was acknowledged
  // last.
  const replicas = Math.max(cluster.spec.instances, await parts.recorded(keyOf(cluster)))
  // Whole, in the name of scaling: whoever dies after any of these leaves a set with the right number of pods.
  const scaled = { ...set, spec: { ...set.spec, replicas } }
  await applyObject(client, statefulSets, scaled, { fieldManager: scaleManager, signal })
  await applyObject(client, statefulSets, set, { fieldManager, signal })
  await applyObject(
    client,
    statefulSets,
    scaleOf({ namespace: key.namespace, name: cluster.metadata.name }, replicas),
    { fieldManager: scaleManager, signal },
  )
}

async function applyOrRemove<Kind extends KubeObject>(
  parts: ClusterObjectsParts,
  resource: Resource<Kind>,
  object: KubeObject,
  { wanted, ...how }: Applying & { readonly wanted: boolean },
): Promise<unknown> {
  if (wanted) return applyOne(parts, resource, object, how)
  const { client } = parts
  const found = await client.get(resource, keyOf(object), { signal: how.signal })
  if (found?.metadata.ownerReferences?.some(({ uid }) => uid === how.cluster.metadata.uid))
    await deleteObject(client, resource, found, { signal: how.signal })
}

/**
 * Claims ask for more; whether their volumes grow is for the storage class. The set's own template cannot change, so a
 * claim that is made later begins small: it is asked once it is bound, as it may not be before.
 */
async function growVolumes(client: KubeClient, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { spec } = cluster
  for (const claim of await claimsOf(client, cluster, signal)) {
    const now = claim.spec?.resources?.requests?.storage
    if (now === undefined || claim.status?.phase === 'Pending' || quantityOf(now) >= quantityOf(spec.storage.size))
      continue
    await client.patch(
      volumeClaims,
      keyOf(claim),
      { spec: { resources: { requests: { storage: spec.storage.size } } } },
      { signal },
    )
  }
}

async function claimsOf(
  client: KubeClient,
  { metadata: { namespace = '', name } }: MySQLCluster,
  signal: AbortSignal,
): Promise<readonly PersistentVolumeClaim[]> {
  return (await listInPages(client, volumeClaims, { namespace, labelSelector: selectorTextOf(name), signal })).objects
}
