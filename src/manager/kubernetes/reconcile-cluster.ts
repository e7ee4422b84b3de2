import { codeOf, described, describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { TerminalError, type Reconcile, type ReconcileResult } from '#controller-runtime/controller/controller.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText } from '#controller-runtime/objects/objects.ts'
import { whyUnfollowable } from '#kube/admission/cluster-validation.ts'
import { namesOf } from '#kube/names/names.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { pausedBySpec, pauseOfResource, type Pause } from '#failover/protocol/notes.ts'
import type { ManagedCluster } from '../clusters/managed-cluster.ts'
import type { KubernetesManagerOptions } from '../options/schema.ts'
import { checkClientCertificate } from './objects/client-certificate.ts'
import {
  agentTokenOf,
  applyClusterObjects,
  keepCertificates,
  type ClusterObjectsParts,
} from './objects/cluster-objects.ts'
import type { ClusterEvents } from './status/cluster-events.ts'
import type { ClusterSet } from './loops/cluster-set.ts'
import { rotatePasswords } from './objects/rotate-passwords.ts'
import { LastingTroubles } from './objects/lasting-troubles.ts'
import { keepRouterAuthority } from './objects/router-authority.ts'

export interface ReconcileClusterParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly clusters: InformerPort<MySQLCluster>
  readonly set: ClusterSet
  readonly leads: () => boolean
  readonly options: Pick<KubernetesManagerOptions, 'reconcile' | 'images'>
  readonly objects: Omit<ClusterObjectsParts, 'images' | 'yields' | 'putRight'>
  readonly events: Pick<ClusterEvents, 'refused' | 'forget' | 'passwords' | 'putRight'>
  /** The status of the cluster is to be looked at again. */
  readonly applied: (cluster: MySQLCluster) => void
}

/** Somebody else makes the Secret, or the notes are being read. */
const soonMs = 500
/** Nothing tells of a Secret that somebody else makes, mends or renews. */
const mendedMs = 10_000
const renewedMs = 600_000
/** Certificates come due without anybody changing anything. */
const certificatesMs = 86_400_000
/** Nothing tells of a PodMonitor that somebody changes or deletes: its kind may not be there to be watched. */
const monitoredMs = 600_000

/**
 * Gives every `MySQLCluster` a loop, in every manager, and all its objects, in the one that leads. The loop comes first
 * where it can: an object that cannot be applied must not keep a dead primary from being replaced.
 */
export function reconcileCluster(parts: ReconcileClusterParts): Reconcile {
  const { clusters, set, leads, events, applied } = parts
  const lasting = new LastingTroubles(parts.clock)
  return async (key, signal) => {
    const cluster = clusters.get(key)
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) {
      set.progress.forget(key)
      lasting.ended(key)
      events.forget(key)
      parts.objects.authorities.delete(keyText(key))
      parts.objects.templates.forget({ ...key, name: namesOf(key.name).statefulSet })
      return set.remove(key)
    }
    try {
      const result = await bringAbout(parts, cluster, signal)
      lasting.ended(key)
      set.progress.stuck(cluster, '')
      events.refused(key, '')
      return result
    } catch (error) {
      if (signal.aborted || !leads() || (isPassing(error) && !lasting.lasts(key))) throw error
      set.progress.stuck(cluster, describeError(error))
      events.refused(key, describeError(error))
      applied(cluster)
      if (codeOf(error) === 'REGENT_BAD_CERTIFICATE') return { requeueAfterMs: mendedMs }
      throw codeOf(error) === 'REGENT_BAD_REQUEST'
        ? new TerminalError('REGENT_BAD_REQUEST', say`${described(error)}`, { cause: error })
        : error
    }
  }
}

/** The error says nothing about the spec: something was read too early, or the API server has no time. */
function isPassing(error: unknown): boolean {
  return error instanceof KubeApiError
    ? [409, 429, 503, 504].includes(error.status)
    : codeOf(error) === 'REGENT_KUBE_UNREACHABLE'
}

async function bringAbout(
  parts: ReconcileClusterParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { leads, applied, clock, set } = parts
  // First: whoever wants no failover now must not wait until the rest of the spec can be brought about.
  const before = set.of(cluster)
  if (leads() && before?.loop.leads) await followPause(before, cluster, clock)
  const known = await managed(parts, cluster, signal)
  if (leads() && !(await keepInStep(parts, cluster, signal))) return {}
  const loopOf = known ?? (await managed(parts, cluster, signal))
  applied(cluster)
  if (loopOf === undefined) return { requeueAfterMs: soonMs }
  if (!leads()) return {}
  if (!loopOf.loop.leads) return { requeueAfterMs: soonMs }
  await followPause(loopOf, cluster, clock)
  const rotatedMs = await rotatePasswords(parts, cluster, loopOf.loop, signal)
  await checkClientCertificate(parts, cluster, signal)
  return { requeueAfterMs: Math.min(restMs(cluster.spec), rotatedMs) }
}

/** How long a cluster that is in step is left alone while nothing is heard. */
export function restMs({ tls, podMonitor }: MySQLCluster['spec']): number {
  return Math.min(
    certificatesMs,
    tls.secretName === undefined ? certificatesMs : renewedMs,
    podMonitor ? monitoredMs : certificatesMs,
  )
}

/** Undefined while the Secret with its agents' token is not made. */
async function managed(
  { client, set }: ReconcileClusterParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<ManagedCluster | undefined> {
  const token = await agentTokenOf(client, cluster, signal)
  return token === undefined ? undefined : set.ensure(cluster, token)
}

/** False where the cluster itself was changed: that is heard of. */
async function keepInStep(parts: ReconcileClusterParts, cluster: MySQLCluster, signal: AbortSignal): Promise<boolean> {
  const { set, options } = parts
  const { applyOnce } = options.reconcile
  const { image, paused } = cluster.spec
  if (image === undefined) return chooseImage(parts, cluster, signal)
  const { generation } = set.progress.of(cluster)
  const objects = {
    ...parts.objects,
    images: { mysql: image, regent: options.images.regent },
    yields: applyOnce === 'force' && generation !== undefined,
    putRight: (sentence: string) => parts.events.putRight(keyOf(cluster), sentence),
  }
  const isDue =
    generation === undefined || (!paused && (applyOnce === 'off' || generation !== cluster.metadata.generation))
  const unfollowable = whyUnfollowable(cluster)
  if (isDue && unfollowable === '') {
    await applyClusterObjects(objects, cluster, signal)
    set.progress.applied(cluster)
  } else {
    await keepCertificates(objects, cluster, signal)
    await keepRouterAuthority(objects, cluster, signal)
  }
  if (unfollowable !== '')
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`${reported(unfollowable)}; until that is mended nothing of this spec is applied`,
    )
  return true
}

/** Once, and into the resource: another default, which comes with the next chart, must not restart anything. */
async function chooseImage(
  { client, options }: ReconcileClusterParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<false> {
  const { mysql } = options.images
  if (mysql === undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`spec.image is not given, and this manager has no default (images.mysql, --images-mysql): name an image with mysqld`,
    )
  await client.patch(
    mysqlClusters,
    keyOf(cluster),
    { metadata: { resourceVersion: cluster.metadata.resourceVersion }, spec: { image: mysql } },
    { signal },
  )
  return false
}

/**
 * A pause that a person asked for through the API is neither replaced nor ended by a resource that never said anything.
 */
async function followPause(managed: ManagedCluster, { spec }: MySQLCluster, clock: Clock): Promise<void> {
  const { loop } = managed
  const { paused } = loop.notes
  managed.isPausedByResource = spec.paused
  if (spec.paused && paused === null)
    await loop.changeNotes((notes) => ({ ...notes, paused: notes.paused ?? pauseOfResource(clock.wallMs()) }))
  if (!spec.paused && isOfResource(paused))
    await loop.changeNotes((notes) => ({ ...notes, paused: isOfResource(notes.paused) ? null : notes.paused }))
}

/** Older notes do not say whose a pause is: there the words of the resource tell. */
function isOfResource(pause: Pause | null): boolean {
  return pause?.by === 'resource' || (pause?.by === undefined && pause?.reason === pausedBySpec)
}
