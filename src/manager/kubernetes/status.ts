import type { MySQLCluster } from '../../kube/mysql-cluster.ts'
import { labels, namesOf } from '../../kube/names.ts'
import type { Pod } from '../../kube/stateful-set.ts'
import { conditionTypes, type MySQLClusterStatus } from '../../kube/status-schema.ts'
import type { ClusterView, InstanceRow } from '../api/views.ts'

export interface StatusInput {
  readonly cluster: MySQLCluster
  readonly view: ClusterView
  readonly pods: readonly Pod[]
  /** What a rolling update does or waits for; '' where none is under way. */
  readonly update: string
  readonly wallMs: number
}

type Condition = NonNullable<MySQLClusterStatus['conditions']>[number]
type Said = Pick<Condition, 'status' | 'reason' | 'message'>

/** What `kubectl get` and `describe` tell. Shown, never decided from. */
export function statusOf({ cluster, view, pods, update, wallMs }: StatusInput): MySQLClusterStatus {
  const { name, generation = 0 } = cluster.metadata
  const nodes = new Map(pods.map((pod) => [pod.metadata.name, pod.spec?.nodeName]))
  const said = conditionsOf(cluster, view, update)
  return {
    observedGeneration: generation,
    conditions: conditionTypes.map((type) => ({ type, ...said[type], lastTransitionTime: transitionOf(cluster, type, said[type], wallMs), observedGeneration: generation })),
    ...(view.primary !== null && { primary: view.primary }),
    epoch: view.epoch,
    revision: view.revision,
    syncSet: [...view.syncSet],
    acks: view.acks,
    sentence: view.sentence,
    instances: view.instances.map((row) => instanceOf(row, nodes.get(row.name))),
    replicas: view.instances.length,
    ready: view.instances.filter((row) => takesPart(view, row)).length,
    selector: `${labels.cluster}=${name}`,
    binding: { name: namesOf(name).client },
  }
}

function instanceOf(row: InstanceRow, node: string | undefined): NonNullable<MySQLClusterStatus['instances']>[number] {
  const { name, role, version, executed, lagSeconds, inSyncSet, problems } = row
  return {
    name,
    role,
    lagSeconds,
    inSyncSet,
    ...(node !== undefined && { node }),
    ...(version !== null && { version }),
    ...(executed !== null && { executed }),
    ...(problems.length > 0 && { reason: problems.join('; ') }),
  }
}

/** It leads, or its acknowledgement counts. */
function takesPart(view: ClusterView, row: InstanceRow): boolean {
  return row.reachable && row.process === 'running' && (row.inSyncSet || (row.name === view.primary && view.writable))
}

function conditionsOf({ spec }: MySQLCluster, view: ClusterView, update: string): Readonly<Record<(typeof conditionTypes)[number], Said>> {
  const { sentence: message, writable, paused } = view
  const missing = spec.instances - view.instances.filter((row) => takesPart(view, row)).length
  const isWhole = writable && missing <= 0 && view.instances.length === spec.instances && !view.blocked
  const progress = progressOf(spec.instances, view, update)
  return {
    Ready: isWhole ? yes('Whole', message) : no(writable ? 'NotWhole' : 'NotWritable', message),
    Available: writable ? yes('Writable', `${view.primary} takes writes`) : no(view.primary === null ? 'NoPrimary' : 'NotWritable', message),
    Progressing: progress === '' ? no('Settled', 'nothing is under way') : yes('Changing', progress),
    Degraded: isWhole ? no('Whole', message) : view.blocked ? yes('Blocked', message) : writable && missing > 0 ? yes('InstancesMissing', `${missing} of ${spec.instances} instances do not take part; ${message}`) : no('Changing', message),
    Paused: paused ? yes('Asked', message) : no('NotAsked', 'Regent acts by itself'),
  }
}

function progressOf(wanted: number, view: ClusterView, update: string): string {
  if (update !== '') return update
  if (view.epoch === 0) return view.sentence
  return view.instances.length === wanted ? '' : `from ${view.instances.length} to ${wanted} instances: ${view.sentence}`
}

function yes(reason: string, message: string): Said {
  return { status: 'True', reason, message }
}

function no(reason: string, message: string): Said {
  return { status: 'False', reason, message }
}

function transitionOf({ status }: MySQLCluster, type: string, { status: now }: Said, wallMs: number): string {
  const before = status?.conditions?.find((condition) => condition.type === type)
  return before?.status === now ? before.lastTransitionTime : new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The same but for figures that move all the time: those need not be written at once. */
export function gistOf(status: MySQLClusterStatus | undefined): string {
  if (status === undefined) return ''
  const instances = status.instances?.map(({ executed: _executed, lagSeconds: _lag, ...rest }) => rest)
  return JSON.stringify({ ...status, instances }, (_key, value: unknown) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value))
}
