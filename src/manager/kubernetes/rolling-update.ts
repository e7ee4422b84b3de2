import type { MySQLCluster } from '../../kube/mysql-cluster.ts'
import { annotations } from '../../kube/names.ts'
import type { Pod } from '../../kube/stateful-set.ts'
import { ordinalOf } from '../../../topology/member.ts'
import type { ClusterView } from '../api/views.ts'

export interface RollingUpdateStep {
  /** The pod to be deleted, so that its set makes it anew; undefined where none may be now. */
  readonly restart: Pod | undefined
  /** '' where every pod is as it should be. */
  readonly sentence: string
}

/**
 * The next step of bringing every pod to what its cluster's spec says: replicas first, the highest ordinal before others, each back in the sync set before the next; the primary last, and its pod's end hands it
 * over (`failover/hand-over.ts`).
 * @param wanted the revision every pod should be of (`podRevisionOf`)
 */
export function nextRestart(cluster: MySQLCluster, view: ClusterView, pods: readonly Pod[], wanted: string): RollingUpdateStep {
  const outdated = pods.filter((pod) => pod.metadata.annotations?.[annotations.podRevision] !== wanted)
  if (outdated.length === 0) return { restart: undefined, sentence: '' }
  const behind = `${outdated.length} of ${pods.length} pods are not as the spec says`
  if (cluster.spec.update.strategy === 'manual') return { restart: undefined, sentence: `${behind}; the update strategy is manual: each takes the change when it is deleted` }
  if (view.paused) return { restart: undefined, sentence: `${behind}; the cluster is paused` }
  const ending = pods.find(({ metadata }) => metadata.deletionTimestamp !== undefined)
  if (ending !== undefined) return { restart: undefined, sentence: `rolling update: ${ending.metadata.name} restarts; ${behind}` }
  const waits = whyNotNow(cluster, view, outdated)
  if (waits !== '') return { restart: undefined, sentence: `rolling update waits: ${waits}; ${behind}` }
  const [next] = outdated.toSorted((a, b) => Number(isPrimary(view, a)) - Number(isPrimary(view, b)) || ordinalOf(b.metadata.name) - ordinalOf(a.metadata.name))
  return { restart: next, sentence: `rolling update: ${next?.metadata.name} restarts; ${behind}` }
}

/** One that is broken already may be what the change is to mend: it is restarted although it keeps the others from being whole. */
function whyNotNow({ spec }: MySQLCluster, view: ClusterView, outdated: readonly Pod[]): string {
  const names = new Set(outdated.map(({ metadata }) => metadata.name))
  if (!view.writable) return 'the cluster takes no writes'
  if (view.instances.length !== spec.instances) return `there are ${view.instances.length} of ${spec.instances} instances`
  const late = view.instances.find((row) => row.name !== view.primary && !row.inSyncSet && !names.has(row.name))
  return late === undefined ? '' : `${late.name} is not back in the sync set`
}

function isPrimary({ primary }: ClusterView, { metadata }: Pod): boolean {
  return metadata.name === primary
}
