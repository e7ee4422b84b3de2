import { printed, type Heard } from '#common/sentence/sentence.ts'
import { analyse, modeOf } from '#failover/decide.ts'
import { takingWrites } from '#failover/way-out/taking-writes.ts'
import { wayOut } from '#failover/way-out/way-out.ts'
import { isOvertaken, type BackupsSeen } from '#topology/snapshot/copies.ts'
import type { ShownGroup } from '#topology/group/shown-group.ts'
import { buildReplicationTree, type ReplicationNode } from '#topology/snapshot/replication-tree.ts'
import type { Heartbeat } from '#topology/snapshot/copies.ts'
import { isBehind, lagByHeartbeat, maxBacklog } from '#topology/snapshot/lag.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Observation, ServerState } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { isFenced, isServing, wantedInstances, type DecisionInput } from '#failover/judge/situation.ts'
import { downtimeOf } from '#failover/judge/downtime.ts'
import { countedMembers, type ClusterRecord } from '#failover/protocol/record.ts'
import type { Analyses, Decision } from '#failover/protocol/decision.ts'
import { ProblemBook, type FoundProblem } from './problem-book.ts'
import { storeSeen } from './store-seen.ts'
import { isWhole } from './whole.ts'
import type { ClusterView, InstanceRow, TopologyView, TreeNode } from '#api-contract/views.ts'

/** What the API shows of a cluster, from what its loop knows. */
export function clusterView(
  input: DecisionInput,
  decision: Decision | null,
  book: ProblemBook = new ProblemBook(),
): ClusterView {
  const { record, spec, notes, snapshot } = input
  const analyses = analysesFor(input, decision)
  const { epoch, revision, primary, syncSet, acks, acksWanted } = saidBy(record)
  const group = groupOf(input)
  const shown = {
    name: input.cluster,
    mode: spec.mode,
    durability: spec.durability,
    epoch,
    revision,
    primary,
    ...writableFields(input),
    syncSet,
    acks,
    acksWanted,
    ...decided(decision),
    paused: notes.paused !== null,
    ...(group === undefined ? {} : { group: groupFields(group) }),
    instances: snapshot.instances.map((view) => ({
      ...instanceRow(input, analyses, view),
      ...memberFields(group, view),
    })),
  }
  return {
    ...shown,
    whole: isWhole(shown, wantedInstances(input)),
    problems: book.note(allProblems(input, analyses), input.wallMs),
  }
}

function decided(decision: Decision | null): Pick<ClusterView, 'condition' | 'sentence' | 'news' | 'blocked'> {
  const undecided = 'this manager does not lead and has decided nothing'
  if (decision === null) return { condition: null, sentence: undecided, news: undecided, blocked: false }
  const { condition, sentence, news, blocked } = decision
  return { condition, sentence, news, blocked }
}

/** What is wrong, without a view of everything beside. */
export function problemsIn(input: DecisionInput, decision: Decision | null): readonly FoundProblem[] {
  return allProblems(input, analysesFor(input, decision))
}

function analysesFor(input: DecisionInput, decision: Decision | null): Analyses {
  return decision === null ? [] : analyse(input)
}

function writableFields(input: DecisionInput): Pick<ClusterView, 'writable' | 'writableUnknown'> {
  const takes = takingWrites(input)
  return takes.kind === 'unknown'
    ? { writable: null, writableUnknown: { likely: takes.isLikely, sentence: printed(takes.sentence, input.place) } }
    : { writable: takes.kind === 'yes' }
}

/** Why nobody knows whether the cluster takes writes, for an answer; nothing where that is known. */
export function unknownField(input: DecisionInput): Pick<ClusterView, 'writableUnknown'> {
  const { writableUnknown } = writableFields(input)
  return writableUnknown === undefined ? {} : { writableUnknown }
}

function groupOf(input: DecisionInput): ShownGroup | undefined {
  return modeOf(input.spec).groupShown?.(input)
}

/** The replication group for an answer; nothing in a mode that has none. */
export function groupField(input: DecisionInput): Pick<ClusterView, 'group'> {
  const group = groupOf(input)
  return group === undefined ? {} : { group: groupFields(group) }
}

/** What the place says of instances, for an explanation; nothing where it says nothing. */
export function placeField({ snapshot }: DecisionInput): { readonly place?: readonly string[] } {
  const words = snapshot.instances.flatMap(({ name, trouble }) =>
    trouble === undefined ? [] : [`${name}: ${trouble}`],
  )
  return words.length === 0 ? {} : { place: words }
}

/** What agents are at, or what stands in their way, for an explanation; nothing where all are done. */
export function agentsField({ snapshot, place }: DecisionInput): { readonly agents?: readonly string[] } {
  const words = snapshot.instances.flatMap(({ name, observation }) =>
    observation === null || observation.converged.done
      ? []
      : [`${name}: ${printed(observation.converged.sentence, place)}`],
  )
  return words.length === 0 ? {} : { agents: words }
}

function groupFields({ members, viewId, ...group }: ShownGroup): NonNullable<ClusterView['group']> {
  return { ...group, viewId: viewId === '' ? null : viewId }
}

/** A member that is ONLINE receives all that the group agrees on: that acknowledges. */
function memberFields(
  group: ShownGroup | undefined,
  { name, reachable }: InstanceView,
): Partial<Pick<InstanceRow, 'group' | 'acknowledging'>> {
  const member = group?.members.get(name)
  return member === undefined ? {} : { group: member, acknowledging: reachable && member.state === 'ONLINE' }
}

function saidBy(record: ClusterRecord | undefined) {
  if (record === undefined) return { epoch: 0, revision: 0, primary: null, syncSet: [], acks: 0, acksWanted: 0 }
  const { epoch, revision, acks, acksWanted } = record
  const syncSet = countedMembers(record).map(instanceOf)
  return { epoch, revision, primary: instanceOf(record.primary), syncSet, acks, acksWanted }
}

export function topologyView(input: DecisionInput, decision: Decision | null, book?: ProblemBook): TopologyView {
  const view = clusterView(input, decision, book)
  const tree = groupTree(view) ?? buildReplicationTree(input.snapshot).roots.map(treeNode)
  return { ...view, ...wayOutOf(input, decision), tree }
}

/** Nothing where it takes writes, and for a manager that decides nothing. */
export function wayOutOf(input: DecisionInput, decision: Decision | null): Pick<TopologyView, 'wayOut'> {
  const found = decision === null ? null : wayOut(input)
  return found === null ? {} : { wayOut: printed(found.sentence, input.place) }
}

/** Members have no channel from one another: the primary stands above those that are in its view. */
function groupTree({ group, instances }: ClusterView): readonly TreeNode[] | undefined {
  const primary = group?.primary ?? null
  if (primary === null) return undefined
  const others = instances.filter((row) => row.name !== primary)
  const isIn = ({ group: member }: InstanceRow) => member?.state === 'ONLINE' || member?.state === 'RECOVERING'
  const alone = ({ name }: InstanceRow): TreeNode => ({ name, replicas: [] })
  return [{ name: primary, replicas: others.filter(isIn).map(alone) }, ...others.filter((row) => !isIn(row)).map(alone)]
}

function treeNode({ instance, followers }: ReplicationNode): TreeNode {
  return { name: instance, replicas: followers.map(treeNode) }
}

function instanceRow(input: DecisionInput, analyses: Analyses, view: InstanceView): InstanceRow {
  const { record, notes } = input
  const seen = view.observation
  const server = seen?.server ?? null
  return {
    name: view.name,
    host: view.host,
    port: view.port,
    role: roleOf(input, view),
    process: seen?.process ?? 'unknown',
    reachable: view.reachable,
    inSyncSet: isCounted(record, seen),
    acknowledging: server?.channel?.semiSync ?? false,
    behind: isFurtherBehind(input, view),
    fenced: isFenced(notes, view.name),
    ...downtimeField(input, view),
    ...serverFields(server, heartbeatOf(input)),
    ...agentFields(seen, verifiedIn(input)),
    ...troubleField(view),
    problems: problemsOf(analyses, view).map(({ code, sentence }) => ({ code, sentence })),
  }
}

function agentFields(
  seen: Observation | null,
  verified: BackupsSeen['verified'],
): Pick<InstanceRow, 'settingsRefused' | 'backup' | 'rehearsal' | 'restored'> {
  const { settingsRefused, backup, rehearsal, stored: { restored } = {} } = seen ?? {}
  return {
    ...(settingsRefused === undefined ? {} : { settingsRefused }),
    ...(backup === undefined ? {} : { backup }),
    ...(rehearsal === undefined || isOvertaken(rehearsal, verified) ? {} : { rehearsal }),
    ...(restored === undefined ? {} : { restored }),
  }
}

function verifiedIn(input: DecisionInput): BackupsSeen['verified'] {
  return storeSeen(input)?.verified ?? null
}

function troubleField({ trouble }: InstanceView): Pick<InstanceRow, 'trouble'> {
  return trouble === undefined ? {} : { trouble }
}

function isCounted(record: ClusterRecord | undefined, seen: Observation | null): boolean {
  return record !== undefined && seen !== null && countedMembers(record).includes(seen.member)
}

function downtimeField(input: DecisionInput, { name }: InstanceView): Pick<InstanceRow, 'downtime'> {
  const found = downtimeOf(input, name)
  return found === undefined
    ? {}
    : { downtime: { untilWallMs: found.untilWallMs, reason: found.reason, owner: found.owner } }
}

function isFurtherBehind({ spec, timings }: DecisionInput, view: InstanceView): boolean {
  const channel = isServing(view, timings) ? view.observation.server?.channel : null
  return channel == null ? isMemberBehind(view, spec.maxLagSeconds) : isBehind(channel, spec.maxLagSeconds)
}

function isMemberBehind({ observation }: InstanceView, maxLagSeconds: number): boolean {
  const { applying = 0, lagSeconds = null } = observation?.server?.group ?? {}
  return applying > maxBacklog || (lagSeconds ?? 0) > maxLagSeconds
}

/** The heartbeat of the primary, where it is seen. */
function heartbeatOf({ record, snapshot }: DecisionInput): Heartbeat | undefined {
  return snapshot.instances.find(({ observation }) => observation !== null && observation.member === record?.primary)
    ?.observation?.heartbeat
}

/**
 * The larger of what is being applied and of what the heartbeat tells: the heartbeat sees as well what did not arrive.
 */
function lagOf({ channel, group }: ServerState, heartbeat: Heartbeat | undefined): number | null {
  const seen = channel ?? group
  const ofApplied = seen?.lagSeconds ?? null
  const ofHeartbeat = lagByHeartbeat(heartbeat, seen?.appliedUpToMs)
  return ofApplied === null || ofHeartbeat === null ? (ofApplied ?? ofHeartbeat) : Math.max(ofApplied, ofHeartbeat)
}

function serverFields(
  server: ServerState | null,
  heartbeat: Heartbeat | undefined,
): Pick<InstanceRow, 'lagSeconds' | 'backlog' | 'readOnly' | 'offline' | 'version' | 'executed'> {
  if (server === null)
    return { lagSeconds: null, backlog: null, readOnly: null, offline: null, version: null, executed: null }
  const { channel, group, readOnly, offlineMode, version, executed } = server
  return {
    lagSeconds: lagOf(server, heartbeat),
    backlog: channel?.backlogTransactions ?? group?.applying ?? null,
    readOnly,
    offline: offlineMode,
    version,
    executed,
  }
}

function roleOf({ record }: DecisionInput, { observation }: InstanceView): InstanceRow['role'] {
  if (record === undefined || observation === null) return 'none'
  if (observation.member === record.primary) return 'primary'
  return observation.stored.assignment?.role === 'replica' ? 'replica' : 'none'
}

/** The worst first, as analysed; then what is under way. */
function allProblems({ snapshot }: DecisionInput, analyses: Analyses): readonly FoundProblem[] {
  const ofInstances = snapshot.instances.flatMap((view) => problemsOf(analyses, view))
  const beside = ofInstances.filter(({ code }) => code in codesBeside)
  return [...analyses.filter(isWrong).map(asProblem), ...beside]
}

function isWrong({ severity, expected }: Analyses[number]): boolean {
  return severity !== 'info' || expected === true
}

function asProblem({ code, instance, sentence }: Analyses[number]): FoundProblem {
  return { code, instance, sentence }
}

/** What no analysis is about. */
const codesBeside = {
  PodNotReady: true,
  NeverHeard: true,
  Seeding: true,
  Converging: true,
  CertificateOld: true,
} as const

function problemsOf(analyses: Analyses, view: InstanceView): readonly FoundProblem[] {
  const beside = (code: keyof typeof codesBeside, sentence: Heard): readonly FoundProblem[] => [
    { code, instance: view.name, sentence: printed(sentence) },
  ]
  const wrong = analyses.filter((one) => one.instance === view.name && isWrong(one)).map(asProblem)
  const seen = view.observation
  const pod = view.trouble === undefined ? [] : beside('PodNotReady', view.trouble)
  if (seen === null) return [...pod, ...beside('NeverHeard', 'its agent was never heard')]
  const { seedingProgress: copy, certificateTrouble, converged } = seen
  const seeding = copy
    ? beside('Seeding', `seeding from ${copy.donor ?? 'another instance'}: ${printed(copy.stage)} ${copy.percent} %`)
    : []
  const isSaid = wrong.some(({ sentence }) => sentence.includes(`: ${printed(converged.sentence)}`))
  const converging = converged.done || isSaid ? [] : beside('Converging', converged.sentence)
  const certificate = certificateTrouble === undefined ? [] : beside('CertificateOld', certificateTrouble)
  return [...pod, ...seeding, ...wrong, ...converging, ...certificate]
}
