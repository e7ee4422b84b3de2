import { createHash } from 'node:crypto'
import type { GroupView } from '#topology/group/group-view.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Observation, StoredSummary } from '#topology/snapshot/observation.ts'
import { errantIn, orderFor, peersOf } from '../steps/assignments.ts'
import {
  endpointOf,
  hasPromised,
  isFenced,
  liveView,
  liveViews,
  viewNamed,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import type { Action } from '../protocol/decision.ts'
import type { Assignment, GroupTask } from '../protocol/assignment.ts'
import { countedMembers, type ClusterRecord } from '../protocol/record.ts'
import { lowestIfBlocked } from './blocked-by-version.ts'
import { viewOf } from './view.ts'

/**
 * The name of a group: a UUID that is made of the cluster's name and of who forms the group, and when where that is not
 * the first time.
 */
export function groupNameFor(cluster: string, formed: string): string {
  const digest = createHash('sha256').update(`${cluster} ${formed}`).digest('hex')
  // The form of a UUID that is made of a name (RFC 9562, version 8).
  const [a, b, c, d, e] = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(13, 16),
    digest.slice(17, 20),
    digest.slice(20, 32),
  ]
  return `${a}-${b}-8${c}-8${d}-${e}`
}

/** What everybody should be, given the record, and the orders for those who are not told yet. */
export function assignmentOrders(situation: Situation): readonly Action[] {
  const group = viewOf(situation)
  return liveViews(situation.snapshot).flatMap((view): readonly Action[] => {
    const { past, observation } = view
    if (past !== undefined || hasPromised(situation.record, observation) || observation.stored.seeding) return []
    const order = assignmentFor(situation, view, group)
    return order === undefined || isTold(situation, view, order) ? [] : [{ kind: 'assign', to: view.name, order }]
  })
}

/** An instance in a group that another hand formed leaves that group before anything else. */
function assignmentFor(situation: Situation, view: LiveView, group: GroupView): Assignment | undefined {
  const task = taskOf(situation, view)
  const wouldJoinNobody = task.does === 'join' && isNowhere(group) && isOutside(view)
  const leaves = group.forks.includes(view.name) ? forkOf(view) : {}
  const isToWait = group.forks.includes(view.name) || wouldJoinNobody
  const base = baseFor(situation, view, isToWait ? { ...task, does: 'stayOut', ...leaves } : task)
  return view.observation.member === situation.record.primary
    ? { ...base, ...asPrimary(situation.record) }
    : asReplica(situation, view, base)
}

function baseFor(situation: Situation, view: LiveView, group: GroupTask) {
  const { name, observation } = view
  const { member, bindsToRun, agentRun } = observation
  return {
    ...orderFor(situation, member, situation.record.epoch),
    peers: peersOf(situation),
    fenced: isFenced(situation.notes, name),
    ...(bindsToRun === true ? { run: agentRun } : {}),
    group,
  }
}

/** No agent waits for leave to start its server: a server begins outside of every group, closed. */
function asPrimary(record: ClusterRecord) {
  const counted = [...new Set(countedMembers(record).map(instanceOf))]
  return { role: 'primary', counted, catchingUp: [], acks: 0, mayRestart: true } as const
}

function asReplica(situation: Situation, view: LiveView, base: ReturnType<typeof baseFor>): Assignment | undefined {
  const { record, snapshot } = situation
  const source = viewNamed(snapshot, instanceOf(record.primary))
  if (source === undefined || source.host === '') return undefined
  return {
    ...base,
    role: 'replica',
    source: endpointOf(source),
    counted: countedMembers(record).includes(view.observation.member),
    ...whatPrimaryHolds(liveView(snapshot, record.primary)),
    ...errantIn(situation, view),
  }
}

/** '' for unknown. */
function whatPrimaryHolds(primary: LiveView | undefined) {
  const server = primary?.observation.server
  if (primary === undefined || !server) return { sourceUuid: '', sourceHolds: '', sourcePurged: '' }
  return {
    sourceUuid: server.uuid,
    sourceHolds: holdsOf(primary.observation).toString(),
    sourcePurged: server.purged,
  }
}

function taskOf(situation: Situation, view: LiveView): GroupTask {
  const { record, spec } = situation
  const { member } = view.observation
  const { name = '', forming = false } = record.group ?? {}
  const does = (): GroupTask['does'] => {
    if (member === record.primary) return forming ? 'form' : 'join'
    if (forming || !countedMembers(record).includes(member)) return 'stayOut'
    return isBlocked(situation, view) ? 'stayOut' : 'join'
  }
  return { name, does: does(), consistency: spec.group.consistency }
}

/** An older agent refuses the word. */
function forkOf({ observation }: LiveView): Pick<GroupTask, 'fork'> {
  return observation.server?.group?.proposed === undefined ? {} : { fork: true }
}

/** There is no group whom to join, as far as anybody tells who answers. */
function isNowhere({ condition }: GroupView): boolean {
  return condition === 'outage' || condition === 'uncertain' || condition === 'noQuorum'
}

/**
 * By its last word, however old that is, and it does not join at this moment. A server that joins in vain cannot be
 * stopped in that for up to a minute: to promise, so that the group can be formed anew, it would be ended.
 */
function isOutside({ observation: { process, server, joinsGroup } }: LiveView): boolean {
  if (joinsGroup === true) return false
  const isUp = process === 'running' || process === 'stopped'
  const state = server?.group?.state
  return !isUp || state === 'OFFLINE' || state === 'ERROR'
}

/** Each attempt would change the view of the whole group, and be refused. */
function isBlocked({ snapshot, record, timings }: Situation, view: LiveView): boolean {
  const primary = liveView(snapshot, record.primary)
  return primary !== undefined && lowestIfBlocked(view, primary, timings.frozenMs) !== null
}

/** Sets that grow with the data are no news of an assignment. */
function isTold(situation: Situation, { observation }: LiveView, order: Assignment): boolean {
  const { stored } = observation
  const told = stored.assignment
  if (told === null || stored.toldNoted === false || !knowsErrant(observation, order)) return false
  return (
    told.epoch === order.epoch &&
    told.revision === order.revision &&
    told.role === order.role &&
    told.fenced === order.fenced &&
    knowsTask(told, order.group) &&
    knowsAddresses(situation, told.addresses ?? {})
  )
}

/** What is errant is all of what the primary holds that an agent acts by. An older agent is told nothing of that. */
function knowsErrant({ errantTold }: Observation, order: Assignment): boolean {
  return order.role === 'primary' || order.errant === undefined || order.errant === errantTold
}

/** An older agent does not say which consistency it was told: it takes another one as it joins. */
function knowsTask(
  { groupDoes, groupConsistency, groupFork }: NonNullable<StoredSummary['assignment']>,
  task: GroupTask | undefined,
): boolean {
  if (groupFork !== task?.fork) return false
  return groupDoes === task?.does && (groupConsistency ?? task?.consistency) === task?.consistency
}

function knowsAddresses({ snapshot }: Situation, told: Readonly<Record<InstanceName, string>>): boolean {
  return snapshot.instances.every(({ name, host, agent }) => host === '' || told[name] === agent)
}
