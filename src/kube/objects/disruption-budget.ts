import type { V1PodDisruptionBudgetSpec } from '@kubernetes/client-node'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { namesOf, selectorOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'

export interface PodDisruptionBudget extends KubeObject {
  readonly spec: V1PodDisruptionBudgetSpec
}

export const podDisruptionBudgets: Resource<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
}

/**
 * Evictions take one instance at a time, and none while another is not ready: an eviction then waits. A pod that is not
 * ready itself protects nobody and may always go, so that a drain does not hang on it (Kubernetes 1.26,
 * "unhealthyPodEvictionPolicy").
 */
export function disruptionBudgetOf(cluster: MySQLCluster): PodDisruptionBudget {
  const { name } = cluster.metadata
  return ownedBy(cluster, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: namesOf(name).disruptionBudget },
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: { ...selectorOf(name) } },
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  })
}
