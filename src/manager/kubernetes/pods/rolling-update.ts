import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { annotations } from '#kube/names/names.ts'
import type { Pod } from '#kube/pods/stateful-set.ts'
import { ordinalOf } from '#topology/snapshot/member.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import { refusesSettings } from '#topology/snapshot/refused-settings.ts'
import type { ClusterView, InstanceRow } from '#api-contract/views.ts'
import { takesPart } from '#manager/clusters/whole.ts'

export interface RollingUpdateStep {
  /** The pod to be deleted, so that its set makes it anew; undefined where none may be now. */
  readonly restart: Pod | undefined
  /** '' where every pod is as it should be. */
  readonly sentence: Said
}

/**
 * The next step of bringing every pod to what its cluster's spec says: first what is broken, then replicas, the highest
 * ordinal before others, each back in the sync set before the next; the primary last, and its pod's end hands it over
 * (`failover/flows/hand-over.ts`).
 * @param wanted the revision of the pods that their set makes now. Not the one that the spec asks for: until the set
 * knows of that, a pod would be deleted for nothing, again and again
 */
export function nextRestart(
  cluster: MySQLCluster,
  view: ClusterView,
  pods: readonly Pod[],
  wanted: string | undefined,
): RollingUpdateStep {
  const outdated = pods.filter((pod) => wanted !== undefined && revisionOf(pod) !== wanted)
  if (outdated.length === 0) return { restart: undefined, sentence: '' }
  const behind = say`${outdated.length} of ${pods.length} pods are not as the spec says`
  if (cluster.spec.update.strategy === 'manual')
    return {
      restart: undefined,
      sentence: say`${behind}; the update strategy is manual: each takes the change when it is deleted`,
    }
  if (view.paused) return { restart: undefined, sentence: say`${behind}; the cluster is paused` }
  const waits = (why: Said): RollingUpdateStep => ({
    restart: undefined,
    sentence: say`rolling update waits: ${why}; ${behind}`,
  })
  const restarts = (pod: Pod): RollingUpdateStep => ({
    restart: pod,
    sentence: say`rolling update: ${pod.metadata.name} restarts; ${behind}`,
  })
  const ending = pods.find(({ metadata }) => metadata.deletionTimestamp !== undefined)
  if (ending !== undefined) return waits(say`${ending.metadata.name} is ending`)
  // A pending pod runs nothing that could be lost, and may wait for the change: an image that there is, less memory.
  const stuck = outdated.find(({ status }) => status?.phase === 'Pending')
  if (stuck !== undefined) return restarts(stuck)
  const why = whyNotNow(cluster, view, { pods, outdated })
  const [next] = inOrder(view, pods, outdated)
  if (why !== '' || next === undefined) return waits(why)
  const { name } = next.metadata
  return isLastThatServes(view, pods, name)
    ? waits(
        say`${name} is the only instance that serves, and nobody takes its place while it restarts: scale up, or delete pod ${name} when clients can do without it`,
      )
    : restarts(next)
}

/** Whether no other instance could be the primary: a pod of the changed spec that never starts ends the cluster. */
function isLastThatServes(view: ClusterView, pods: readonly Pod[], name: string): boolean {
  return view.primary === name && !view.instances.some((row) => row.name !== name && isBack(view, pods, row.name))
}

/** Which of the things that only a restart brings it was made with, or its set makes pods with. */
export function revisionOf(
  of: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } } | undefined,
): string | undefined {
  return of?.metadata?.annotations?.[annotations.podRevision]
}

/**
 * An instance that has the change must be back before the next goes, or two would be away. An instance that is broken
 * without the change keeps nobody waiting: it is the next.
 */
function whyNotNow(
  { spec }: MySQLCluster,
  view: ClusterView,
  { pods, outdated }: { readonly pods: readonly Pod[]; readonly outdated: readonly Pod[] },
): Said {
  if (!view.writable) return say`the cluster takes no writes`
  if (view.instances.length !== spec.instances)
    return say`there are ${view.instances.length} of ${spec.instances} instances`
  const names = new Set(outdated.map(({ metadata }) => metadata.name))
  const refusing = view.instances.find(({ name, settingsRefused }) => !names.has(name) && settingsRefused !== undefined)
  if (refusing?.settingsRefused !== undefined) return refusesSettings(refusing.name, refusing.settingsRefused)
  const late = view.instances.find(({ name }) => !names.has(name) && !isBack(view, pods, name))
  if (late === undefined) return ''
  if (!takesPart(view, late))
    return say`${late.name} is not back in the ${late.group === undefined ? say`sync set` : say`group`}`
  return acknowledges(view, late)
    ? say`the pod of ${late.name} is not ready`
    : say`${late.name} does not acknowledge yet`
}

function inOrder(view: ClusterView, pods: readonly Pod[], outdated: readonly Pod[]): readonly Pod[] {
  const rank = ({ metadata: { name } }: Pod): number => (name === view.primary ? 2 : isBack(view, pods, name) ? 1 : 0)
  return outdated.toSorted((a, b) => rank(a) - rank(b) || ordinalOf(b.metadata.name) - ordinalOf(a.metadata.name))
}

/**
 * A member of the sync set counts before its first acknowledgement; were another away by then, writes would wait for
 * it.
 */
function acknowledges(view: ClusterView, row: InstanceRow): boolean {
  return row.name === view.primary || row.acknowledging
}

/** By its pod too: what agents last said may be of the pod that was there before. */
function isBack(view: ClusterView, pods: readonly Pod[], name: string): boolean {
  const row = view.instances.find((instance) => instance.name === name)
  const pod = pods.find(({ metadata }) => metadata.name === name)
  return (
    row !== undefined &&
    takesPart(view, row) &&
    acknowledges(view, row) &&
    pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  )
}
