import type { V1NetworkPolicyPeer, V1NetworkPolicyPort } from '@kubernetes/client-node'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { probePort } from './agent-config.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { group, labels, namesOf, selectorOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import { agentPort, mysqlPort } from './services.ts'

export interface NetworkPolicy extends KubeObject {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly policyTypes: readonly 'Ingress'[]
    readonly ingress: readonly {
      readonly ports: readonly V1NetworkPolicyPort[]
      readonly from?: readonly V1NetworkPolicyPeer[]
    }[]
  }
}

export const networkPolicies: Resource<NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
}

/**
 * Anybody may reach MySQL, which asks for a password itself; agents are reached by each other and by the managers only,
 * their metrics by anybody where those are to be monitored. What leaves the pods is not limited.
 */
export function networkPolicyOf(cluster: MySQLCluster, managerNamespace: string): NetworkPolicy {
  const { name } = cluster.metadata
  const { lifecycle } = cluster.spec
  const agentPorts = [agentPort, ...(lifecycle === undefined ? [] : [lifecycle.port, lifecycle.streamingPort])]
  const ofRouters = { matchLabels: { [`apps.${group}/app`]: namesOf(name).router } }
  const routers = cluster.spec.router === undefined ? [] : [{ podSelector: ofRouters }]
  const instances = { podSelector: { matchLabels: { ...selectorOf(name) } } }
  const managers = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': managerNamespace } },
    podSelector: { matchLabels: { [labels.name]: 'regent' } },
  }
  return ownedBy(cluster, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: {
      ...instances,
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: mysqlPort, protocol: 'TCP' }] },
        { ports: agentPorts.map((port) => ({ port, protocol: 'TCP' })), from: [instances, managers, ...routers] },
        ...(cluster.spec.podMonitor ? [{ ports: [{ port: probePort, protocol: 'TCP' }] }] : []),
      ],
    },
  })
}
