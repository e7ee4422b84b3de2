import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { namesOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'

export interface ServiceAccount extends KubeObject {
  readonly automountServiceAccountToken: boolean
}

export const serviceAccounts: Resource<ServiceAccount> = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

/**
 * The account of the pods. The account has no rights, and no token but one that an agent with probes is given to write
 * Events with: everything else the manager asks of the API server.
 */
export function serviceAccountOf(cluster: MySQLCluster): ServiceAccount {
  return ownedBy(cluster, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: namesOf(cluster.metadata.name).serviceAccount },
    automountServiceAccountToken: false,
  })
}
