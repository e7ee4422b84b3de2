import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { probePortName } from './agent-config.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { selectorOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'

export interface PodMonitor extends KubeObject {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly podMetricsEndpoints: readonly {
      readonly port: string
      readonly path: string
      readonly honorLabels: boolean
    }[]
  }
}

/** A resource of the Prometheus operator. */
export const podMonitors: Resource<PodMonitor> = {
  group: 'monitoring.coreos.com',
  version: 'v1',
  kind: 'PodMonitor',
  plural: 'podmonitors',
  namespaced: true,
}

/**
 * The agents' metrics, from the port that answers without a certificate: Prometheus is given nothing with which it
 * could order an agent anything.
 */
export function podMonitorOf(cluster: MySQLCluster): PodMonitor {
  const { name } = cluster.metadata
  return ownedBy(cluster, {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: { name },
    spec: {
      selector: { matchLabels: { ...selectorOf(name) } },
      podMetricsEndpoints: [{ port: probePortName, path: '/metrics', honorLabels: true }],
    },
  })
}
