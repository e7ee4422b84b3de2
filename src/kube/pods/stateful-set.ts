import type { V1PodSpec, V1StatefulSetSpec } from '@kubernetes/client-node'
import type { KubeObject, ObjectKey, Resource } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { commonLabels, namesOf, selectorOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import { podTemplateOf, type PodImages } from './pod-template.ts'

export interface StatefulSet extends KubeObject {
  readonly spec: V1StatefulSetSpec
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number }
}

export interface Pod extends KubeObject {
  readonly spec?: Pick<V1PodSpec, 'nodeName' | 'containers' | 'initContainers' | 'volumes'>
  readonly status?: {
    readonly podIP?: string
    readonly phase?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

export interface ContainerStatus {
  readonly name: string
  readonly state?: ContainerState
  /** Before the last restart. */
  readonly lastState?: ContainerState
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode?: number; readonly message?: string }
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: { readonly resources?: { readonly requests?: { readonly storage?: string } } }
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } }
}

export const statefulSets: Resource<StatefulSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  namespaced: true,
}
export const pods: Resource<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
export const volumeClaims: Resource<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
}

const claimTemplate = 'data'

/** The name the set gives to the claim of an instance. */
export function claimOf(instance: string): string {
  return `${claimTemplate}-${instance}`
}

/**
 * The instances of a cluster. Pods start all at once: they find each other, and who leads is not the set's business.
 * Nothing is restarted by the set itself (`OnDelete`): the manager does that, replicas first.
 * @param existing the set as it is: the size of its claims never changes. How many pods it has is not said here: that
 * is scaling's, once leavers have left the record
 */
export function statefulSetOf(
  cluster: MySQLCluster,
  images: PodImages,
  existing: StatefulSet | undefined,
): StatefulSet {
  const { name } = cluster.metadata
  const { storage, volumes } = cluster.spec
  const claim = existing?.spec.volumeClaimTemplates?.[0]?.spec
  const spec: V1StatefulSetSpec = {
    serviceName: namesOf(name).instances,
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'OnDelete' },
    revisionHistoryLimit: 2,
    selector: { matchLabels: { ...selectorOf(name) } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: volumes.whenDeleted, whenScaled: volumes.whenScaled },
    template: podTemplateOf(cluster, images),
    volumeClaimTemplates: [
      {
        metadata: { name: claimTemplate, labels: { ...commonLabels(name) } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          ...(storage.storageClassName !== undefined && { storageClassName: storage.storageClassName }),
          resources: { requests: { storage: claim?.resources?.requests?.['storage'] ?? storage.size } },
        },
      },
    ],
  }
  return ownedBy(cluster, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: namesOf(name).statefulSet },
    spec,
  })
}

/**
 * The field manager of the number of pods: never the same apply as all the rest, or a cached number would undo a
 * scaling.
 */
export const scaleManager = 'regent-scale'

/** The part of the set that scaling owns. */
export function scaleOf({ namespace, name }: ObjectKey, replicas: number): KubeObject & { readonly spec: object } {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: namesOf(name).statefulSet, namespace },
    spec: { replicas },
  }
}
