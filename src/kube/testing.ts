import { Value } from 'typebox/value'
import type { ObjectMeta } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from './spec/mysql-cluster.ts'
import { annotations, commonLabels, group, labels, version } from './names/names.ts'
import { mysqlClusterSpecSchema, type MySQLClusterSpec } from './spec/spec-schema.ts'
import { statefulSetOf, type Pod, type StatefulSet } from './pods/stateful-set.ts'

/** A cluster as the API server gives it: what was not said filled in. */
export function aCluster(said: object = {}, metadata: Partial<MySQLCluster['metadata']> = {}): MySQLCluster {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'MySQLCluster',
    metadata: { name: 'shop', namespace: 'shops', uid: 'u1', ...metadata },
    spec: specOf(said),
  }
}

export function specOf(said: object = {}): MySQLClusterSpec {
  return Value.Default(mysqlClusterSpecSchema, { storage: { size: '1Gi' }, ...said }) as MySQLClusterSpec
}

export const testImages = { mysql: 'mysql:8.4.6', regent: 'regent:1' }

export interface PodShape {
  readonly role?: string
  readonly epoch?: string
  readonly revision?: string
  readonly ip?: string
  readonly phase?: string
  readonly ready?: boolean
  readonly metadata?: Partial<ObjectMeta>
}

/** A pod of the cluster `shop`: running and ready unless said otherwise. */
export function aPod(
  ordinal: number,
  { role, epoch, revision, ip, phase = 'Running', ready = true, metadata }: PodShape = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `shop-${ordinal}`,
      namespace: 'shops',
      labels: { ...commonLabels('shop'), ...(role !== undefined && { [labels.role]: role }) },
      annotations: {
        ...(epoch !== undefined && { [annotations.epoch]: epoch }),
        ...(revision !== undefined && { [annotations.podRevision]: revision }),
      },
      ...metadata,
    },
    spec: { nodeName: `node-${ordinal}`, containers: [] },
    status: {
      phase,
      podIP: ip ?? `10.0.0.${ordinal + 1}`,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }
}

/** The set of `aCluster` with so many pods. */
export function aStatefulSet(replicas: number, cluster = aCluster()): StatefulSet {
  const set = statefulSetOf(cluster, testImages, undefined)
  return { ...set, spec: { ...set.spec, replicas } }
}
