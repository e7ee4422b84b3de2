import { timeOf, transitionTime } from '#controller-runtime/objects/conditions.ts'
import { describeDowntime } from '#failover/judge/downtime.ts'
import { describeLag } from '#topology/snapshot/lag.ts'
import { takesPart } from '#manager/clusters/whole.ts'
import type { Said as Sentences } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import { describeBackup, type BackupsSeen } from '#topology/snapshot/copies.ts'
import { refusesSettings } from '#topology/snapshot/refused-settings.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { namesOf, selectorTextOf } from '#kube/names/names.ts'
import { agentAddress } from '#kube/objects/services.ts'
import type { Pod } from '#kube/pods/stateful-set.ts'
import { conditionTypes, type MySQLClusterStatus } from '#kube/spec/status-schema.ts'
import type { ClusterView, InstanceRow } from '#api-contract/views.ts'
import type { Progress } from './spec-progress.ts'

export interface StatusInput {
  readonly cluster: MySQLCluster
  readonly view: ClusterView
  readonly pods: readonly Pod[]
  /** What a rolling update does or waits for; '' where none is under way. */
  readonly update: Sentences
  readonly progress: Progress
  /** Agents that are there, and that this manager and they do not trust: why, by address. */
  readonly distrust?: ReadonlyMap<string, string>
  /** What the primary's agent sees in the store of backups. */
  readonly backups?: BackupsSeen | undefined
  readonly wallMs: number
}

type Condition = NonNullable<MySQLClusterStatus['conditions']>[number]
type Said = Pick<Condition, 'status' | 'reason' | 'message'>

/** What `kubectl get` and `describe` tell. Shown, never decided from. */
export function statusOf(given: StatusInput): MySQLClusterStatus {
  const input = { ...given, view: withTroublesFirst(given.view) }
  const { cluster, view, pods } = input
  const { name } = cluster.metadata
  const nodes = new Map(pods.map((pod) => [pod.metadata.name, pod.spec?.nodeName]))
  return {
    ...told(input, conditionsOf(input)),
    ...(view.primary !== null && { primary: view.primary }),
    epoch: view.epoch,
    revision: view.revision,
    syncSet: [...view.syncSet],
    acks: view.acks,
    ...(view.condition !== null && { clusterCondition: view.condition }),
    sentence: view.sentence,
    ...groupOf(view),
    instances: view.instances.map((row) => instanceOf(row, nodes.get(row.name))),
    replicas: view.instances.length,
    ready: view.instances.filter((row) => takesPart(view, row)).length,
    selector: selectorTextOf(name),
    ...backupOf(input),
    binding: { name: namesOf(name).client },
  }
}

function backupOf({ cluster, view, backups }: StatusInput): Pick<MySQLClusterStatus, 'backup'> {
  if (cluster.spec.backup === undefined || backups === undefined) return {}
  const { whole, newest, verified, sentence } = backups
  // A view keeps the last word of an agent that is silent, and that run may never end.
  const running = view.instances.find(
    ({ backup, reachable }) => reachable && (backup?.stage === 'copies' || backup?.stage === 'sends'),
  )?.backup
  const message = running === undefined ? sentence : String(describeBackup(running))
  return {
    backup: {
      whole,
      ...(newest !== null && { newest: newest.name, newestAt: timeOf(newest.endedAtMs) }),
      ...(verified !== null && { verified: verified.name, verifiedAt: timeOf(verified.verifiedAtMs) }),
      ...(message !== '' && { message }),
    },
  }
}

/** What Kubernetes itself says of a pod explains more than what follows from that. */
function withTroublesFirst(view: ClusterView): ClusterView {
  const words = view.instances.flatMap((row) =>
    row.trouble === undefined || takesPart(view, row) ? [] : [`${row.name}: ${row.trouble}`],
  )
  return words.length === 0 ? view : { ...view, sentence: `${words.join('; ')}. ${view.sentence}` }
}

/** The status of a cluster without a loop, whose spec cannot be followed. What was said of it before stays. */
export function refusedStatusOf({
  cluster,
  progress,
  wallMs,
}: Pick<StatusInput, 'cluster' | 'progress' | 'wallMs'>): MySQLClusterStatus {
  const message = progress.trouble
  const conditions = {
    Ready: no('SpecNotFollowed', message),
    Available: no('NotManaged', message),
    Progressing: no('SpecNotFollowed', message),
    Degraded: yes('SpecNotFollowed', message),
    Paused: no('NotAsked', 'Regent acts by itself'),
  }
  return { ...cluster.status, ...told({ cluster, progress, wallMs }, conditions), sentence: message }
}

type Conditions = Readonly<Record<(typeof conditionTypes)[number], Said>>

function told(
  { cluster, progress, wallMs }: Pick<StatusInput, 'cluster' | 'progress' | 'wallMs'>,
  said: Conditions,
): Pick<MySQLClusterStatus, 'observedGeneration' | 'observedAt' | 'conditions'> {
  const generation = progress.generation === undefined ? {} : { observedGeneration: progress.generation }
  return {
    ...generation,
    observedAt: timeOf(wallMs),
    conditions: conditionTypes.map((type) => ({
      type,
      ...said[type],
      lastTransitionTime: transitionTime(cluster.status?.conditions, { type, status: said[type].status }, wallMs),
      ...generation,
    })),
  }
}

function instanceOf(row: InstanceRow, node: string | undefined): NonNullable<MySQLClusterStatus['instances']>[number] {
  const { name, role, version, executed, lagSeconds, inSyncSet, problems, group } = row
  return {
    name,
    role,
    lagSeconds,
    inSyncSet,
    ...(node !== undefined && { node }),
    ...(version !== null && { version }),
    ...(executed !== null && { executed }),
    ...(group !== undefined && group.state !== null && { member: group.state }),
    ...(problems.length > 0 && { problems: problems.map((one) => ({ ...one })) }),
  }
}

const withoutMajority = {
  noQuorum: 'no majority',
  outage: 'nobody is in the group',
  uncertain: 'nobody who answers is in the group',
  splitBrain: 'two groups',
} as const

/** `3 of 3 ONLINE, 1 may be lost`. */
function summaryOf({ condition, online, expected, mayBeLost }: NonNullable<ClusterView['group']>): string {
  return condition === 'online' || condition === 'partial'
    ? `${online} of ${expected} ONLINE, ${mayBeLost === 0 ? 'none' : mayBeLost} may be lost`
    : withoutMajority[condition]
}

function groupOf({ group }: ClusterView): Pick<MySQLClusterStatus, 'group'> {
  if (group === undefined) return {}
  const { name, condition, online, expected, mayBeLost, viewId } = group
  const summary = summaryOf(group)
  return { group: { summary, name, condition, online, expected, mayBeLost, ...(viewId !== null && { viewId }) } }
}

function conditionsOf({ cluster, view, update, progress: { trouble }, distrust }: StatusInput): Conditions {
  const { spec } = cluster
  const { sentence: message } = view
  const untrusted = untrustedSentence(cluster.metadata.name, view, distrust)
  const missing = view.instances.filter((row) => !takesPart(view, row)).map(({ name }) => name)
  const behind = view.instances.filter((row) => takesPart(view, row) && row.behind)
  const isComplete = missing.length === 0 && goesOnWith(view, spec.instances)
  const isWhole = isComplete && behind.length === 0
  const progress = progressOf(spec.instances, view, update)
  return {
    Ready: isWhole ? yes('Whole', message) : no(isComplete ? 'ReplicasLagging' : whyIncomplete(view), message),
    Available: availability(view),
    Progressing: trouble === '' ? progression(progress) : no('SpecNotFollowed', trouble),
    Degraded:
      untrusted ??
      settingsSentence(view) ??
      degradationOf(view, missing, behind, trouble) ??
      notDegraded(view, isWhole),
    Paused: view.paused ? yes('Asked', message) : no('NotAsked', 'Regent acts by itself'),
  }
}

function goesOnWith({ writable, blocked, instances }: ClusterView, wanted: number): boolean {
  return writable === true && !blocked && instances.length === wanted
}

function whyIncomplete({ writable, writableUnknown }: ClusterView): string {
  if (writableUnknown !== undefined) return 'WritesNotKnown'
  return writable === true ? 'NotWhole' : 'NotWritable'
}

function availability({ writable, writableUnknown, primary, sentence }: ClusterView): Said {
  if (writableUnknown !== undefined)
    return { status: 'Unknown', reason: 'WritesNotKnown', message: writableUnknown.sentence }
  if (writable === true) return yes('Writable', `${primary} takes writes`)
  return no(primary === null ? 'NoPrimary' : 'NotWritable', sentence)
}

function progression(progress: string): Said {
  return progress === '' ? no('Settled', 'nothing is under way') : yes('Changing', progress)
}

/**
 * Said before all else: a manager that is not trusted can do nothing, and what it says of the instances is what it does
 * not see.
 */
function untrustedSentence(
  cluster: string,
  { instances }: ClusterView,
  distrust: StatusInput['distrust'],
): Said | undefined {
  const refusing = instances.filter(({ host }) => host !== '' && distrust?.has(agentAddress(host)))
  if (refusing.length === 0) return undefined
  const [first] = refusing
  const why = distrust?.get(agentAddress(first?.host ?? '')) ?? ''
  const names = refusing.map(({ name }) => name).join(', ')
  const { authority, certificates } = namesOf(cluster)
  const cure = `The kubelets bring the files of Secret ${certificates} to the pods within a minute or two; the authority is in Secret ${authority}`
  return yes(
    'NotTrusted',
    `${names}: the agents and this manager do not trust each other, and no failover to or from there is possible until they do. ${cure}. ${why}`,
  )
}

/**
 * A setting that mysqld does not know stops more than the instance that is restarted with it: the others are not
 * restarted, and the cluster stays as it is until a person puts it right.
 */
function settingsSentence({ instances, sentence }: ClusterView): Said | undefined {
  const refusing = instances.flatMap(({ name, settingsRefused }) =>
    settingsRefused === undefined ? [] : [String(refusesSettings(name, settingsRefused))],
  )
  return refusing.length === 0
    ? undefined
    : yes('SettingsRefused', `${refusing.join('; ')}. Put spec.settings right; ${sentence}`)
}

/** Nobody is called for what a person expects. */
function notDegraded({ instances, sentence }: ClusterView, isWhole: boolean): Said {
  if (isWhole) return no('Whole', sentence)
  const words = instances.flatMap(({ name, downtime }) =>
    downtime === undefined ? [] : [`${name}: ${String(describeDowntime(downtime))}`],
  )
  return words.length === 0 ? no('Changing', sentence) : no('Downtime', words.join('; '))
}

function degradationOf(
  view: ClusterView,
  missingOnes: readonly string[],
  behindOnes: readonly InstanceRow[],
  trouble: string,
): Said | undefined {
  const { sentence, blocked, writable, instances } = view
  const expected = instances.filter(({ downtime }) => downtime !== undefined).map(({ name }) => name)
  const missing = missingOnes.filter((name) => !expected.includes(name))
  const behind = behindOnes.filter(({ name }) => !expected.includes(name))
  if (blocked) return yes('Blocked', sentence)
  if (writable && missing.length > 0)
    return yes(
      'InstancesMissing',
      `${missing.join(', ')} ${missing.length === 1 ? 'does' : 'do'} not take part; ${sentence}`,
    )
  if (writable && behind.length > 0)
    return yes(
      'ReplicasLagging',
      `${behind.map(({ name, lagSeconds, backlog }) => `${name} is ${String(describeLag({ lagSeconds, backlogTransactions: backlog ?? 0 }))}`).join(', ')}; ` +
        `${sentence}`,
    )
  return trouble === '' ? undefined : yes('SpecNotFollowed', trouble)
}

function progressOf(wanted: number, view: ClusterView, update: Sentences): string {
  if (update !== '') return String(update)
  if (view.epoch === 0) return view.sentence
  return view.instances.length === wanted
    ? ''
    : `from ${view.instances.length} to ${counted(wanted, 'instance')}: ${view.sentence}`
}

function yes(reason: string, message: string): Said {
  return { status: 'True', reason, message }
}

function no(reason: string, message: string): Said {
  return { status: 'False', reason, message }
}

/** The same but for what need not be written at once: figures, and sentences with them, move all the time. */
export function withoutFigures(status: MySQLClusterStatus | undefined): string {
  if (status === undefined) return ''
  const instances = status.instances?.map(({ executed: _executed, lagSeconds: _lag, ...rest }) => rest)
  return JSON.stringify({ ...status, instances, observedAt: undefined }, (key, value: unknown) =>
    key === 'sentence' || key === 'message' ? undefined : isObject(value) ? sorted(value) : value,
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
