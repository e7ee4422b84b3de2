import { errantOf } from '#topology/snapshot/comparison.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { countedUuids, knowsOtherUuids } from '../judge/data/counted-uuids.ts'
import type { Action } from '../protocol/decision.ts'
import { electedIn, holdsElected, isMeasure } from '../judge/election/elected-set.ts'
import { mustStopForHole } from '../judge/data/holes.ts'
import type { PrimaryAssignment, ReplicaAssignment } from '../protocol/assignment.ts'
import { orderVersion, type Endpoint } from '../protocol/message.ts'
import { countedMembers, gatheredMembers, sourceOf, type ClusterRecord } from '../protocol/record.ts'
import type { Channel, Observation } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { errantToTell, isErrant } from '../judge/data/errant.ts'
import { primaryDonates, waitsForItsCopy } from '../judge/seeding/seeding-plan.ts'
import {
  endpointOf,
  hasPromised,
  hasStrayedLong,
  isFenced,
  isServing,
  liveView,
  liveViews,
  viewNamed,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'

/**
 * What everybody should be, given the record, and the orders for those who are not told yet. The order in which they
 * are sent matters: the primary opens its gates and switches semi-sync on before anybody connects (switching it with a
 * replica connected takes a second), and forgets a member before that member may come back as something else. Until
 * then the replicas of a new epoch prepare everything but the connection.
 */
export function assignmentOrders(
  situation: Situation,
  options: { mayRestart: boolean } = { mayRestart: false },
): readonly Action[] {
  const { record } = situation
  const primary = liveView(situation.snapshot, record.primary)
  const actions: Action[] = []
  if (primary && (options.mayRestart || primaryNeedsOrder(situation, primary))) {
    actions.push({ kind: 'assign', to: primary.name, order: primaryAssignment(situation, primary, options.mayRestart) })
  }
  for (const view of liveViews(situation.snapshot)) {
    if (
      view.past !== undefined ||
      view.observation.member === record.primary ||
      !replicaNeedsOrder(situation, view, primary)
    )
      continue
    const order = replicaAssignment(situation, view, primary)
    if (order) actions.push({ kind: 'assign', to: view.name, order })
  }
  return actions
}

function primaryAssignment(situation: Situation, view: LiveView, mayRestart: boolean): PrimaryAssignment {
  const { record, cluster } = situation
  const uuids = countedUuids(situation, view)
  return {
    version: orderVersion,
    cluster,
    member: record.primary,
    epoch: record.epoch,
    revision: record.revision,
    role: 'primary',
    peers: peersOf(situation),
    fenced: isFenced(situation.notes, view.name),
    counted: [...new Set(countedMembers(record).map(instanceOf))],
    ...(uuids && { countedUuids: uuids }),
    catchingUp: catchingUp(situation),
    connected: connected(situation, view),
    acks: record.acksWanted,
    mayRestart,
    ...boundTo(view),
    ...(primaryDonates(situation, view) ? { donates: true } : {}),
    ...electedIn(record, view),
  }
}

/**
 * Replicas that the primary lets in although they do not count. A replica that is seeded stopped its receiver before it
 * stored that, and is never assigned to count until it is through; it needs the gate for its copy. The others are
 * uncounted replicas that stored, at this revision, that they are not counted, *and* whose server acts on it: only they
 * may be let in. An agent that died between the two has left a receiver behind that acknowledges as soon as it gets in.
 */
function catchingUp(situation: Situation): readonly InstanceName[] {
  const { record } = situation
  return liveViews(situation.snapshot)
    .filter(
      ({ observation, past }) =>
        past === undefined &&
        observation.member !== record.primary &&
        (isSeeded(record, observation) ||
          (hasStoredUncounted(record, observation) && observation.converged.revision >= record.revision)),
    )
    .map((view) => view.name)
}

function isSeeded(record: ClusterRecord, { member, stored }: Observation): boolean {
  return (
    stored.seeding &&
    stored.assignment?.role !== 'primary' &&
    stored.assignment?.counted !== true &&
    !countedMembers(record).includes(member)
  )
}

/** They were gathered for it by the switchover that has just committed it, and follow it since the epoch before. */
function connected({ record, snapshot }: Situation, primary: LiveView): readonly InstanceName[] {
  if (primary.observation.stored.assignment?.epoch === record.epoch) return []
  const gathered = liveViews(snapshot).filter(
    ({ past, observation: { stored } }) =>
      past === undefined &&
      stored.assignment?.source === primary.name &&
      stored.assignment.epoch < record.epoch &&
      stored.promise === record.epoch,
  )
  return gathered.map(({ name }) => name)
}

function hasStoredUncounted(record: ClusterRecord, { member, stored: { assignment } }: Observation): boolean {
  const uncounted = assignment?.role === 'replica' && !assignment.counted && !countedMembers(record).includes(member)
  return uncounted && assignment.epoch === record.epoch && assignment.revision >= record.revision
}

function primaryNeedsOrder(situation: Situation, view: LiveView): boolean {
  const { record } = situation
  const { stored, server } = view.observation
  if (hasPromised(record, view.observation)) return false
  const told = leadingAsTold(record, stored)
  if (told === null)
    return stored.assignment?.epoch !== record.epoch || !waitsForUncounted(situation, server?.openGates ?? [])
  return (
    knowsTooLittle(situation, view) ||
    (told.donates === true) !== primaryDonates(situation, view) ||
    told.fenced !== isFenced(situation.notes, view.name) ||
    lacksGates(situation, server)
  )
}

/** What a primary was told that knows this revision; null for any other. */
function leadingAsTold(record: ClusterRecord, { assignment, revision }: Observation['stored']) {
  if (assignment?.role !== 'primary' || assignment.epoch !== record.epoch) return null
  return revision >= record.revision ? assignment : null
}

function lacksGates(situation: Situation, server: Observation['server']): boolean {
  if (server === null) return false
  const open = new Set(server.openGates)
  return catchingUp(situation).some((replica) => !open.has(replica))
}

/**
 * The agent lacks what it must know of the others, or of itself: its next start would not know that this start was
 * noted (`agents/instance/stored-state.ts`).
 */
function knowsTooLittle(situation: Situation, view: LiveView): boolean {
  return (
    knowsOtherUuids(situation, view) ||
    knowsOtherAddresses(situation, view) ||
    view.observation.stored.toldNoted === false
  )
}

/**
 * A replica that is let in now and has not stored this revision yet would lose its connection for a moment: it is told
 * first. A replica that cannot be told (it is seeded, it promised more, its server is down), or has not followed for
 * long (its agent may be unable to store anything), is not waited for: the primary would never hear of this revision.
 */
function waitsForUncounted(situation: Situation, openGates: readonly InstanceName[]): boolean {
  const { record } = situation
  return openGates.some((replica) => {
    const view = viewNamed(situation.snapshot, replica)
    const isMember = record.syncSet.some((member) => instanceOf(member) === replica)
    if (isMember || !canBeTold(situation, view)) return false
    return !hasStrayedLong(situation, view.observation.member) && !hasStoredUncounted(record, view.observation)
  })
}

function canBeTold({ record, timings }: Situation, view: InstanceView | undefined): view is LiveView {
  return (
    isServing(view, timings) &&
    view.past === undefined &&
    !hasPromised(record, view.observation) &&
    !view.observation.stored.seeding
  )
}

function replicaNeedsOrder(situation: Situation, view: LiveView, primary: LiveView | undefined): boolean {
  const { stored } = view.observation
  if (hasPromised(situation.record, view.observation) || stored.seeding) return false
  return isAsTold(situation, view)
    ? primary !== undefined && isToldOnceMore(situation, view, primary)
    : isToldNow(situation, view, primary)
}

function isToldOnceMore(situation: Situation, view: LiveView, primary: LiveView): boolean {
  return knowsOtherErrant(situation, view, primary) || catchUpFor(situation, view, primary) !== undefined
}

function isToldNow(situation: Situation, view: LiveView, primary: LiveView | undefined): boolean {
  const { record, notes } = situation
  const { stored, member } = view.observation
  const isThere = primary?.observation.process === 'running' && isMeasure(record, primary)
  const isOfThisEpoch = stored.assignment?.epoch === record.epoch
  // Orders of a new epoch go out at once, so that the replica prepares; orders of a new revision once the source has
  // applied that revision.
  if (!isSourceReady(situation, member, primary) && (isOfThisEpoch || !isThere)) return false
  // Told of this epoch already, and nothing is new to say while the primary is not there: it would be told again and
  // again.
  return !isOfThisEpoch || stored.assignment.fenced !== isFenced(notes, view.name) || isThere
}

function isAsTold(situation: Situation, view: LiveView): boolean {
  const { member, stored } = view.observation
  const { record, notes, snapshot } = situation
  const { assignment } = stored
  if (assignment === null || !isToldBy(record, member, assignment) || stored.toldNoted === false) return false
  const waits = assignment.sourceReady === false && mayConnect(situation, view, liveView(snapshot, record.primary))
  const knowsHole = (assignment.passedOver === true) === mustStopForHole(situation, view)
  const isFencedAsTold = assignment.fenced === isFenced(notes, view.name)
  return isFencedAsTold && knowsHole && !knowsOtherAddresses(situation, view) && !waits
}

function isToldBy(record: ClusterRecord, member: MemberId, told: NonNullable<Observation['stored']['assignment']>) {
  return (
    told.role === 'replica' &&
    told.epoch === record.epoch &&
    told.revision === record.revision &&
    told.counted === countedMembers(record).includes(member) &&
    told.source === instanceOf(sourceOf(record, member))
  )
}

/** Told by name what its source never had. An older agent judges that itself, by what it was told the source holds. */
function knowsOtherErrant(situation: Situation, view: LiveView, primary: LiveView): boolean {
  const { errantTold } = view.observation
  return errantTold === undefined
    ? standsByForNothing(situation, view, primary) || followsErrant(situation, view)
    : errantTold !== errantToTell(situation, view).toString()
}

/**
 * The replica was told by a manager that had not heard of all that the primary holds. So the replica takes itself for
 * errant, and waits to be seeded again. The replica is not errant, and is told once more.
 */
function standsByForNothing(situation: Situation, { observation }: LiveView, primary: LiveView): boolean {
  const { converged, server, stored, member } = observation
  if (stored.assignment?.sourceReady === false || !hasStrayedLong(situation, member)) return false
  if (converged.done || converged.revision !== situation.record.revision) return false
  if (server === null || primary.observation.server === null) return false
  return isStopped(server.channel) && errantOf(observation, primary.observation).isEmpty()
}

/** By its agent, not by an error. */
function isStopped(channel: Channel | null): boolean {
  return channel === null || (channel.ioRunning === 'no' && channel.ioError === '')
}

/**
 * An agent that was started again does not know what its source holds until it is told, and follows with what is
 * errant. The agent is told once more, and its replica stands by.
 */
function followsErrant(situation: Situation, view: LiveView): boolean {
  const { converged, server, stored, seedingProgress } = view.observation
  return (
    stored.assignment?.counted === true &&
    converged.done &&
    server?.channel?.ioRunning === 'yes' &&
    seedingProgress === null &&
    isErrant(situation, view)
  )
}

function mayConnect(situation: Situation, view: LiveView, primary: LiveView | undefined): boolean {
  const { member } = view.observation
  if (!isSourceReady(situation, member, primary)) return false
  const counts = situation.record.syncSet.includes(member) || gatheredMembers(situation.record).includes(member)
  return counts || !waitsForItsCopy(situation, view, primary)
}

/**
 * A source has its gates and k in force before a counted replica follows it. A replica that is not counted needs less:
 * it never delays an acknowledgement.
 */
function isSourceReady(situation: Situation, member: MemberId, primary: LiveView | undefined): boolean {
  const { record } = situation
  if (gatheredMembers(record).includes(member)) return true
  return countedMembers(record).includes(member) ? isReadyAsSource(record, primary) : !isBecomingSource(record, primary)
}

/**
 * The primary of a new epoch runs and has not set its gates yet. A replica that connected now would make it wait a
 * second: switching semi-sync on takes that long while somebody is connected.
 */
function isBecomingSource(record: ClusterRecord, primary: LiveView | undefined): boolean {
  if (primary?.observation.process !== 'running') return false
  const { stored, converged } = primary.observation
  return stored.assignment?.role !== 'primary' || stored.assignment.epoch !== record.epoch || converged.revision === 0
}

/** The primary applied this revision: gates and k in force, so that a counted replica may connect. */
function isReadyAsSource(record: ClusterRecord, primary: LiveView | undefined): boolean {
  const observation = primary?.observation
  return (
    observation?.stored.assignment?.role === 'primary' &&
    observation.stored.assignment.epoch === record.epoch &&
    observation.converged.revision >= record.revision
  )
}

function replicaAssignment(
  situation: Situation,
  view: LiveView,
  primary: LiveView | undefined,
): ReplicaAssignment | undefined {
  const { record, cluster } = situation
  const { member } = view.observation
  const source = viewNamed(situation.snapshot, instanceOf(sourceOf(record, member)))
  if (source === undefined || source.host === '') return undefined
  const server = primary?.observation.server
  const forgot = catchUpFor(situation, view, primary)
  return {
    version: orderVersion,
    cluster,
    member,
    epoch: record.epoch,
    revision: record.revision,
    role: 'replica',
    peers: peersOf(situation),
    fenced: isFenced(situation.notes, view.name),
    source: endpointOf(source),
    counted: countedMembers(record).includes(member),
    sourceUuid: server?.uuid ?? '',
    sourceHolds: heldBySource(situation, primary),
    sourcePurged: server?.purged ?? '',
    ...errantIn(situation, view),
    ...passedOverIn(situation, view),
    ...boundTo(view),
    ...(forgot === undefined ? {} : { catchUpFor: forgot }),
    ...(mayConnect(situation, view, primary) ? {} : { sourceReady: false }),
  }
}

function passedOverIn(situation: Situation, view: LiveView): Pick<ReplicaAssignment, 'passedOver'> {
  return mustStopForHole(situation, view) ? { passedOver: true } : {}
}

/** For a replica's order, where its agent knows the word. */
export function errantIn(situation: Situation, view: LiveView): Pick<ReplicaAssignment, 'errant'> {
  return view.observation.errantTold === undefined ? {} : { errant: errantToTell(situation, view).toString() }
}

/** '' for unknown. */
function heldBySource({ record }: Situation, primary: LiveView | undefined): GtidText {
  return primary?.observation.process === 'running' && holdsElected(record, primary.observation)
    ? holdsOf(primary.observation).toString()
    : ''
}

/**
 * What the primary is seen to hold may be older than what a replica acknowledged alone and forgot. So a forgetful
 * replica catches up with what the primary held after it had heard of it. An older primary's agent does not hear: what
 * it said last has to do.
 */
function catchUpFor(
  situation: Situation,
  { name, observation: { forgetfulAs } }: LiveView,
  primary: LiveView | undefined,
): string | undefined {
  if (forgetfulAs === undefined || primary === undefined || heldBySource(situation, primary) === '') return undefined
  const { heardForgetful } = primary.observation
  return heardForgetful === undefined || heardForgetful[name] === forgetfulAs ? forgetfulAs : undefined
}

/**
 * What is said of the cluster is said to the agent that was seen: its next start may have forgotten something since.
 */
function boundTo({ observation: { bindsToRun, agentRun } }: LiveView): { readonly run?: string } {
  return bindsToRun === true ? { run: agentRun } : {}
}

/**
 * An instance has moved since it was told where everybody is. Nothing new can be said of an instance that has no
 * address at this moment.
 */
function knowsOtherAddresses({ snapshot }: Situation, { observation: { stored } }: LiveView): boolean {
  const told = stored.assignment?.addresses
  return told !== undefined && snapshot.instances.some(({ name, host, agent }) => host !== '' && told[name] !== agent)
}

export function peersOf(situation: Situation): readonly Endpoint[] {
  return situation.snapshot.instances.map(endpointOf)
}

/** The parts every order shares. `epoch` is the record's for assignments and the one to be promised for promises. */
export function orderFor(situation: Situation, member: MemberId, epoch: number) {
  return {
    version: orderVersion,
    cluster: situation.cluster,
    member,
    epoch,
    revision: situation.record.revision,
  } as const
}
