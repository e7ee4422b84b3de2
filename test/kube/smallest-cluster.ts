import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'

export const smallest = { instances: 3, storage: { size: '1Gi' } }

export function manifest(namespace: string, spec: unknown, name = 'shop'): MySQLCluster {
  return {
    apiVersion: 'regent.dev/v1alpha1',
    kind: 'MySQLCluster',
    metadata: { name, namespace },
    spec,
  } as MySQLCluster
}
