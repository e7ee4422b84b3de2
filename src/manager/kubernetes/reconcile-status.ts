import type { Clock } from '../../common/ports.ts'
import type { Reconcile } from '../../controller-runtime/controller.ts'
import type { InformerPort } from '../../controller-runtime/informer-port.ts'
import { isConflict, isNotFound } from '../../controller-runtime/kube-api-error.ts'
import type { KubeClient } from '../../controller-runtime/kube-client.ts'
import { keyOf, keyText, type ObjectKey } from '../../controller-runtime/objects.ts'
import { applyStatus } from '../../controller-runtime/server-side-apply.ts'
import { mysqlClusters, type MySQLCluster } from '../../kube/mysql-cluster.ts'
import { annotations, labels, namesOf } from '../../kube/names.ts'
import { podRevisionOf } from '../../kube/pod-template.ts'
import { moveRoles } from '../../kube/role-labels.ts'
import { pods as podResource, type Pod, type StatefulSet } from '../../kube/stateful-set.ts'
import type { ClusterSet } from './cluster-set.ts'
import { nextRestart, type RollingUpdateStep } from './rolling-update.ts'
import { gistOf, statusOf } from './status.ts'

export interface ReconcileStatusParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly clusters: InformerPort<MySQLCluster>
  readonly pods: InformerPort<Pod>
  readonly statefulSets: InformerPort<StatefulSet>
  readonly set: ClusterSet
  readonly leads: () => boolean
}

const statusManager = 'regent-status'
/** GTID sets and lag move all the time, and each write of them is an event for everybody who watches. */
const figuresMs = 30_000
/** What a decision says may be outdated a moment later. */
const settleMs = 250

/** Shows what a cluster is: role labels first, since replicas are routed by them, then the status; and restarts what a changed spec wants restarted. */
export function reconcileStatus(parts: ReconcileStatusParts): Reconcile {
  const { client, clock, clusters, pods, statefulSets, set, leads } = parts
  const written = new Map<string, { readonly gist: string; readonly atMs: number }>()
  return async (key, signal) => {
    const cluster = clusters.get(key)
    const managed = set.get(key)
    if (cluster === undefined || managed === undefined) return void written.delete(keyText(key))
    if (!leads() || managed.loop.decision === null) return
    const view = managed.view()
    const ours = podsOf(pods, key)
    await moveRoles(client, ours, { epoch: view.epoch, primary: view.primary, replicas: view.instances.filter(({ role }) => role === 'replica').map(({ name }) => name) }, signal)
    const wanted = podRevisionOf(cluster, cluster.spec.image ?? '')
    const update = nextRestart(cluster, view, ours, wanted)
    const status = statusOf({ cluster, view, pods: ours, update: update.sentence, wallMs: clock.wallMs() })
    const gist = gistOf(status)
    const last = written.get(keyText(key))
    const nowMs = clock.monotonicMs()
    const isNews = last?.gist !== gist || last.gist !== gistOf(cluster.status)
    if (!isNews && nowMs - (last?.atMs ?? 0) < figuresMs) return { requeueAfterMs: figuresMs }
    if (isNews && nowMs - (last?.atMs ?? -Infinity) < settleMs) return { requeueAfterMs: settleMs }
    written.set(keyText(key), { gist, atMs: nowMs })
    const { apiVersion, kind, metadata } = cluster
    await applyStatus(client, mysqlClusters, { apiVersion, kind, metadata, status }, { fieldManager: statusManager, signal })
    // A pod that is made before its set says so is made as it was.
    if (templateRevisionOf(statefulSets, key) === wanted) await restart(client, update, signal)
    return { requeueAfterMs: figuresMs }
  }
}

function podsOf(pods: InformerPort<Pod>, { namespace, name }: ObjectKey): readonly Pod[] {
  return pods.list().filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[labels.cluster] === name)
}

function templateRevisionOf(sets: InformerPort<StatefulSet>, { namespace, name }: ObjectKey): string | undefined {
  return sets.get({ namespace, name: namesOf(name).statefulSet })?.spec.template.metadata?.annotations?.[annotations.podRevision]
}

/** That very pod: another one of its name is another decision. */
async function restart(client: KubeClient, { restart: pod }: RollingUpdateStep, signal: AbortSignal): Promise<void> {
  if (pod === undefined) return
  await client.delete(podResource, keyOf(pod), { ...(pod.metadata.uid !== undefined && { uid: pod.metadata.uid }), signal }).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error
  })
}
