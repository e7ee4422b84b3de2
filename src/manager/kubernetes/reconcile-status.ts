import type { Clock } from '#common/ports/ports.ts'
import type { Reconcile, ReconcileResult } from '#controller-runtime/controller/controller.ts'
import { say } from '#common/sentence/sentence.ts'
import { deleteObject } from '#controller-runtime/changes/delete-object.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { applyStatus } from '#controller-runtime/changes/server-side-apply.ts'
import { allWithinRecord } from '#kube/primary/epoch.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { labels, namesOf } from '#kube/names/names.ts'
import { isRead, moveReads } from '#kube/primary/read-labels.ts'
import { moveRoles } from '#kube/primary/role-labels.ts'
import { readSettingsOf } from '#kube/spec/read-settings.ts'
import { pods as podResource, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import type { MySQLClusterStatus } from '#kube/spec/status-schema.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { ClusterView } from '#api-contract/views.ts'
import type { ManagedCluster } from '../clusters/managed-cluster.ts'
import { readersIn } from '../clusters/readers.ts'
import type { ClusterSet } from './loops/cluster-set.ts'
import { storeSeenIn } from './backups/store-seen.ts'
import { PodKeeper } from './pods/pod-keeper.ts'
import { keepSetLabels } from './pods/set-labels.ts'
import { nextRestart, revisionOf } from './pods/rolling-update.ts'
import { withoutFigures, refusedStatusOf, statusOf, type StatusInput } from './status/status.ts'

export interface ReconcileStatusParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly clusters: InformerPort<MySQLCluster>
  readonly pods: InformerPort<Pod>
  readonly statefulSets: InformerPort<StatefulSet>
  readonly set: ClusterSet
  readonly leads: () => boolean
  readonly putRight: (key: ObjectKey, sentence: string) => void
  /** The listener for runs of backups that agents speak of. */
  readonly runs?: (cluster: MySQLCluster, instances: ClusterView['instances'], signal: AbortSignal) => Promise<void>
}

const statusManager = 'regent-status'
/** GTID sets and lag move all the time, and each write of them is an event for everybody who watches. */
const figuresMs = 30_000
/**
 * Each renewal of the time is a write to etcd and an event for everybody who watches, also of a cluster that is quiet.
 */
const observedMs = 60_000
/** Longer than most recoveries take; one that is not through by then is shown while it goes on. */
const recoveryFirstMs = 1_000
/** What a decision says may be outdated a moment later. */
const settleMs = 250

/** A cluster that this manager leads, and what is known of it. */
interface Led {
  readonly key: ObjectKey
  readonly cluster: MySQLCluster
  readonly managed: ManagedCluster
  readonly progress: StatusInput['progress']
  readonly wallMs: number
}

/**
 * Shows what a cluster is: labels first, since replicas are routed by them, then the status; and restarts what a
 * changed spec wants restarted.
 */
export function reconcileStatus(parts: ReconcileStatusParts): Reconcile {
  const { client, clock, clusters, pods, statefulSets, set, leads } = parts
  const show = statusWriter(client, clock)
  const keeper = new PodKeeper(parts)
  const setOf = (key: ObjectKey) => statefulSets.get({ ...key, name: namesOf(key.name).statefulSet })

  async function showLed({ key, cluster, managed, progress, wallMs }: Led, signal: AbortSignal) {
    const view = managed.view()
    const { decision } = managed.loop
    const ours = await allWithinRecord(podsOf(pods, key), view.epoch, () => set.committedEpoch(key))
    await moveRoles(
      client,
      ours,
      {
        epoch: view.epoch,
        primary: view.primary,
        replicas: view.instances.filter(({ role }) => role === 'replica').map(({ name }) => name),
      },
      signal,
    )
    const read = new Set(ours.filter(isRead).map(({ metadata }) => metadata.name))
    await moveReads(client, ours, readersIn(managed.loop.input(), readSettingsOf(cluster.spec), read), signal)
    const madeBy = setOf(key)
    const kept = await keeper.keep(key.name, madeBy, signal)
    const update = nextRestart(cluster, view, ours, revisionOf(madeBy?.spec.template))
    const sentence = kept.sentence === '' ? update.sentence : kept.sentence
    const result = await show.write(
      cluster,
      statusOf({
        ...{ cluster, view, pods: ours, update: sentence, progress, wallMs, distrust: set.distrust(key) },
        backups: storeSeenIn(managed),
      }),
      // Words of others are there as they say them.
      [decision?.news, say`${sentence}`.news, progress.trouble, ...view.instances.map(({ trouble }) => trouble)],
      signal,
    )
    await parts.runs?.(cluster, view.instances, signal)
    if (update.restart !== undefined) await deleteObject(client, podResource, update.restart, { signal })
    return { requeueAfterMs: Math.min(result?.requeueAfterMs ?? Infinity, kept.requeueAfterMs ?? Infinity) }
  }

  return async (key, signal) => {
    const cluster = clusters.get(key)
    if (cluster === undefined) {
      keeper.forget(key)
      return show.forget(key)
    }
    if (!leads()) return
    const managed = set.of(cluster)
    const progress = set.progress.of(cluster)
    const wallMs = clock.wallMs()
    if (managed === undefined)
      return progress.trouble === ''
        ? undefined
        : show.write(cluster, refusedStatusOf({ cluster, progress, wallMs }), [progress.trouble], signal)
    if (setOf(key) === undefined) {
      const sentence = await keepSetLabels(client, key, signal)
      if (sentence !== '') parts.putRight(key, sentence)
    }
    if (managed.loop.decision === null) return
    const { recovery, notes } = managed.loop
    const holdMs = heldUp(recovery ?? notes.recoveries.find(({ kind }) => kind !== 'repair'), wallMs)
    if (holdMs > 0) return { requeueAfterMs: holdMs }
    return showLed({ key, cluster, managed, progress, wallMs }, signal)
  }
}

/**
 * How long everything here stands back for a recovery: what it writes costs the API server, its controllers and
 * kube-proxy the time in which they could move the primary's Service, and mysqld the time in which the first replica
 * connects to a primary that is open already.
 */
function heldUp(newest: Recovery | undefined, wallMs: number): number {
  const sinceMs = wallMs - (newest?.startedWallMs ?? 0)
  return sinceMs < 0 ? 0 : Math.max(0, recoveryFirstMs - sinceMs)
}

interface StatusWriter {
  /** @param said what differs where a sentence of the status is news */
  write(
    cluster: MySQLCluster,
    status: MySQLClusterStatus,
    said: readonly (string | undefined)[],
    signal: AbortSignal,
  ): Promise<ReconcileResult>
  forget(key: ObjectKey): void
}

/** Writes what is news, after a moment, and figures now and then; nothing where nothing differs. */
export function statusWriter(client: KubeClient, clock: Clock): StatusWriter {
  const written = new Map<string, { readonly news: string; readonly atMs: number }>()
  return {
    async write(cluster, status, said, signal) {
      const text = keyText(keyOf(cluster))
      const gist = withoutFigures(status)
      const news = JSON.stringify([gist, ...said])
      const last = written.get(text)
      const nowMs = clock.monotonicMs()
      const sinceMs = nowMs - (last?.atMs ?? -Infinity)
      const isNews = last?.news !== news || gist !== withoutFigures(cluster.status)
      const pauseMs = isNews ? settleMs : figuresMs
      if (sinceMs < pauseMs) return { requeueAfterMs: pauseMs - sinceMs }
      written.set(text, { news, atMs: nowMs })
      const observedAt = isNews ? status.observedAt : observedTime(cluster.status, status)
      const { apiVersion, kind, metadata } = cluster
      await applyStatus(
        client,
        mysqlClusters,
        { apiVersion, kind, metadata, status: { ...status, ...(observedAt !== undefined && { observedAt }) } },
        { fieldManager: statusManager, signal },
      )
      return { requeueAfterMs: figuresMs }
    },
    forget: (key) => void written.delete(keyText(key)),
  }
}

/** The time that is there is good for a minute, whatever this manager's clock says of the one that wrote it. */
function observedTime(before: MySQLClusterStatus | undefined, { observedAt }: MySQLClusterStatus): string | undefined {
  const sinceMs = Date.parse(observedAt ?? '') - Date.parse(before?.observedAt ?? '')
  return sinceMs >= 0 && sinceMs < observedMs ? before?.observedAt : observedAt
}

function podsOf(pods: InformerPort<Pod>, { namespace, name }: ObjectKey): readonly Pod[] {
  return pods
    .list()
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[labels.cluster] === name)
}
