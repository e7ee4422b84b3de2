import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { group, version } from '../names/names.ts'
import type { MySQLClusterSpec } from './spec-schema.ts'
import type { MySQLClusterStatus } from './status-schema.ts'

export interface MySQLCluster extends KubeObject {
  readonly spec: MySQLClusterSpec
  readonly status?: MySQLClusterStatus
}

export const mysqlClusters: Resource<MySQLCluster> = {
  group,
  version,
  kind: 'MySQLCluster',
  plural: 'mysqlclusters',
  namespaced: true,
}
