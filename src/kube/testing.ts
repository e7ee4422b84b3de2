import { Value } from 'typebox/value'
import type { MySQLCluster } from './mysql-cluster.ts'
import { group, version } from './names.ts'
import { mysqlClusterSpecSchema, type MySQLClusterSpec } from './spec-schema.ts'

/** A cluster as the API server gives it: what was not said filled in. */
export function aCluster(said: object = {}, metadata: Partial<MySQLCluster['metadata']> = {}): MySQLCluster {
  return { apiVersion: `${group}/${version}`, kind: 'MySQLCluster', metadata: { name: 'shop', namespace: 'shops', uid: 'u1', ...metadata }, spec: specOf(said) }
}

export function specOf(said: object = {}): MySQLClusterSpec {
  return Value.Default(mysqlClusterSpecSchema, { storage: { size: '1Gi' }, ...said }) as MySQLClusterSpec
}
