import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { namesOf } from '#kube/names/names.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { podMonitors } from '#kube/objects/pod-monitor.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { services, servicesOf } from '#kube/objects/services.ts'
import { claimOf, statefulSets, volumeClaims } from '#kube/pods/stateful-set.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { foreign, isOfCluster } from '#kube/spec/owned.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import type { Capability } from '#manager/options/schema.ts'

export interface ForeignParts {
  readonly client: Pick<KubeClient, 'get'>
  readonly disabled: ReadonlySet<Capability>
}

/** What is to be applied, to the very object that is there; throws `REGENT_REFUSED` where that is somebody else's. */
export function ofThis<Kind extends KubeObject>(
  cluster: MySQLCluster,
  object: Kind,
  live: KubeObject | undefined,
): Kind {
  if (live === undefined) return object
  const { name } = cluster.metadata
  if (!isOfCluster(name, live)) throw foreign(name, [live])
  const { uid } = live.metadata
  return { ...object, metadata: { ...object.metadata, ...(uid !== undefined && { uid }) } }
}

/**
 * Before a new cluster has anything: where an object of somebody else stands in its way, no part of it is made, and one
 * sentence names all.
 */
export async function refuseForeign(parts: ForeignParts, cluster: MySQLCluster, signal: AbortSignal): Promise<void> {
  const { namespace = '', name } = cluster.metadata
  const names = namesOf(name)
  const inTheWay: readonly (readonly [Resource, readonly string[]])[] = [
    [services, servicesOf(cluster).map(({ metadata }) => metadata.name)],
    [endpointSlices, [names.primary]],
    [statefulSets, [names.statefulSet]],
    [volumeClaims, Array.from({ length: cluster.spec.instances }, (_, at) => claimOf(instanceName(name, at)))],
    [configMaps, [names.agents]],
    [serviceAccounts, [names.serviceAccount]],
    [secrets, [names.internal, names.client, names.admin, names.certificates, names.authority]],
    ...optionalNames(parts, cluster),
  ]
  const asked = inTheWay.flatMap(([resource, all]) =>
    all.map((one) => parts.client.get(resource, { namespace, name: one }, { signal })),
  )
  const found = (await Promise.all(asked)).filter((one) => one !== undefined)
  const strangers = found.filter((one) => !isOfCluster(name, one))
  if (strangers.length > 0) throw foreign(name, strangers)
}

function optionalNames({ disabled }: ForeignParts, { metadata, spec }: MySQLCluster) {
  const { disruptionBudget } = namesOf(metadata.name)
  const named = (capability: Capability, resource: Resource, name: string) =>
    disabled.has(capability) ? [] : [[resource, [name]] as const]
  return [
    ...named('disruptionBudgets', podDisruptionBudgets, disruptionBudget),
    ...(spec.networkPolicy ? named('networkPolicies', networkPolicies, metadata.name) : []),
    ...(spec.podMonitor ? named('podMonitors', podMonitors, metadata.name) : []),
  ]
}
