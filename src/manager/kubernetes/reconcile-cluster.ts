import type { Clock } from '../../common/ports.ts'
import type { Reconcile } from '../../controller-runtime/controller.ts'
import type { InformerPort } from '../../controller-runtime/informer-port.ts'
import type { KubeClient } from '../../controller-runtime/kube-client.ts'
import { keyOf } from '../../controller-runtime/objects.ts'
import { mysqlClusters, type MySQLCluster } from '../../kube/mysql-cluster.ts'
import type { ManagedCluster } from '../managed-cluster.ts'
import type { KubernetesManagerOptions } from '../options/schema.ts'
import { agentTokenOf, applyClusterObjects, type ClusterObjectsParts } from './cluster-objects.ts'
import type { ClusterSet } from './cluster-set.ts'

export interface ReconcileClusterParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly clusters: InformerPort<MySQLCluster>
  readonly set: ClusterSet
  readonly leads: () => boolean
  readonly options: Pick<KubernetesManagerOptions, 'reconcile' | 'images'>
  readonly objects: Omit<ClusterObjectsParts, 'images' | 'yields'>
  /** Its status is to be looked at again. */
  readonly applied: (cluster: MySQLCluster) => void
}

const pausedBySpec = 'paused in its resource'
/** Certificates come due without anybody changing anything. */
const certificatesMs = 86_400_000

/** Gives every `MySQLCluster` a loop, in every manager, and all its objects, in the one that leads. */
export function reconcileCluster(parts: ReconcileClusterParts): Reconcile {
  const { client, clusters, set, leads, options, applied } = parts
  const { applyOnce } = options.reconcile
  return async (key, signal) => {
    const cluster = clusters.get(key)
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return set.remove(key)
    if (leads()) {
      const { image } = cluster.spec
      if (image === undefined) return chooseImage(parts, cluster, signal)
      const isDue = applyOnce === 'off' || cluster.status?.observedGeneration !== cluster.metadata.generation
      const images = { mysql: image, regent: options.images.regent }
      if (isDue) await applyClusterObjects({ ...parts.objects, images, yields: applyOnce === 'force' }, cluster, signal)
    }
    const token = await agentTokenOf(client, cluster, signal)
    if (token === undefined) return { requeueAfterMs: 1_000 }
    const managed = await set.ensure(cluster, token)
    if (leads()) await followPause(managed, cluster, parts.clock)
    applied(cluster)
    return { requeueAfterMs: certificatesMs }
  }
}

/** Once, and into the resource: another default, which comes with the next chart, must not restart anything. */
async function chooseImage({ client, options }: ReconcileClusterParts, cluster: MySQLCluster, signal: AbortSignal): Promise<{ requeueAfterMs: number } | void> {
  const { mysql } = options.images
  if (mysql === undefined) return { requeueAfterMs: 60_000 }
  await client.patch(mysqlClusters, keyOf(cluster), { metadata: { resourceVersion: cluster.metadata.resourceVersion }, spec: { image: mysql } }, { signal })
}

/** A pause that a person asked for through the API is not ended by a resource that never said anything. */
async function followPause({ loop }: ManagedCluster, { spec }: MySQLCluster, clock: Clock): Promise<void> {
  const isPausedBySpec = loop.notes.paused?.reason === pausedBySpec
  if (spec.paused && loop.notes.paused === null) await loop.changeNotes((notes) => ({ ...notes, paused: { reason: pausedBySpec, wallMs: clock.wallMs() } }))
  if (!spec.paused && isPausedBySpec) await loop.changeNotes((notes) => ({ ...notes, paused: null }))
}
