import type { V1ServiceSpec } from '@kubernetes/client-node'
import { hostPort } from '#common/text/host-port.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { labels, namesOf, selectorOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'

export interface Service extends KubeObject {
  readonly spec: V1ServiceSpec
}

export const services: Resource<Service> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
}

/** Where the agent of each pod listens, and mysqld's interface for it. */
export const agentPort = 9400
export const mysqlPort = 3306

/** Where the agent of the pod with this address is reached. */
export function agentAddress(host: string): string {
  return hostPort(host, agentPort)
}

type Reached = MySQLClusterSpec['services']['primary']

/** How a cluster's instances are reached: the primary, the replicas, and each by its name. */
export function servicesOf(cluster: MySQLCluster): readonly Service[] {
  return [primaryService(cluster), replicasService(cluster), instancesService(cluster)]
}

/** Without a selector unless labels are asked for: Regent writes its endpoints (`primary-endpoints.ts`). */
function primaryService(cluster: MySQLCluster): Service {
  const { name } = cluster.metadata
  const { primary, routing } = cluster.spec.services
  const selector = routing === 'labels' ? { selector: { ...selectorOf(name), [labels.role]: 'primary' } } : {}
  return service(cluster, namesOf(name).primary, { ...reachedBy(primary), ...selector })
}

function replicasService(cluster: MySQLCluster): Service {
  const { name } = cluster.metadata
  const { replicas } = cluster.spec.services
  const { ipFamilyPolicy } = replicas
  return service(cluster, namesOf(name).replicas, {
    ...reachedBy(replicas),
    ...(ipFamilyPolicy !== undefined && { ipFamilyPolicy }),
    selector: readSelectorOf(name),
  })
}

/** Which pods have reads is said pod by pod (`read-labels.ts`): a replica may be late, and the primary stand in. */
function readSelectorOf(cluster: string): Readonly<Record<string, string>> {
  return { ...selectorOf(cluster), [labels.reads]: 'open' }
}

/** Names of pods resolve before they are ready: they must find each other to become so. */
function instancesService(cluster: MySQLCluster): Service {
  const { name } = cluster.metadata
  return service(cluster, namesOf(name).instances, {
    ...openly,
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: selectorOf(name),
    ports: [
      { name: 'mysql', port: mysqlPort, protocol: 'TCP', targetPort: mysqlPort },
      { name: 'agent', port: agentPort, protocol: 'TCP', targetPort: agentPort },
    ],
  })
}

/**
 * What the API server would fill in by itself, said nevertheless: what is not sent is not ours, and a hand's change of
 * it would stay.
 */
const openly = { sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' }

function reachedBy({ type, port, loadBalancerClass, loadBalancerSourceRanges }: Reached): V1ServiceSpec {
  return {
    ...openly,
    type,
    publishNotReadyAddresses: false,
    ports: [{ name: 'mysql', port, protocol: 'TCP', targetPort: mysqlPort }],
    ...(loadBalancerClass !== undefined && type === 'LoadBalancer' && { loadBalancerClass }),
    ...(loadBalancerSourceRanges !== undefined &&
      type === 'LoadBalancer' && { loadBalancerSourceRanges: [...loadBalancerSourceRanges] }),
  }
}

function service(cluster: MySQLCluster, name: string, spec: V1ServiceSpec): Service {
  const { primary, replicas } = cluster.spec.services
  const names = namesOf(cluster.metadata.name)
  const annotations = name === names.primary ? primary.annotations : name === names.replicas ? replicas.annotations : {}
  return ownedBy(cluster, { apiVersion: 'v1', kind: 'Service', metadata: { name, annotations }, spec })
}
