import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { ChangedSetting, Observation, ServerState } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { InstanceView, Snapshot } from '#topology/snapshot/snapshot.ts'
import type { Place } from '#common/sentence/command.ts'
import { allOf } from '#common/text/words.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { ClusterNotes, Recovery } from '../protocol/notes.ts'
import type { Endpoint } from '../protocol/message.ts'
import type { PasswordsWish } from '../protocol/order.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import type { ClusterSpec } from '../protocol/spec.ts'
import type { Timings } from '../protocol/timings.ts'

/** What a person asked for through the API and no record says yet. */
export type Request =
  | {
      readonly kind: 'switchover'
      readonly id: string
      /** Whom the person took for the primary as the request was taken: another primary does not hand over for that. */
      readonly from?: InstanceName
      readonly to: InstanceName | null
      /** By `steadyWallMs`. */
      readonly deadlineWallMs: number
      /** So much of the time until then is for the hooks before it. Absent for none. */
      readonly forHooksMs?: number
      readonly reason: string
    }
  | FailoverRequest
  | ({ readonly kind: 'passwords'; readonly id: string } & PasswordsWish)

export interface FailoverRequest {
  readonly kind: 'failover'
  readonly id: string
  readonly to: InstanceName | null
  readonly acceptLoss: boolean
}

export type Follows = (seen: Observation, record: ClusterRecord) => boolean

/**
 * Everything `decide` is given. The decision reads no clock and remembers nothing: what must be remembered is in here.
 */
export interface DecisionInput {
  readonly cluster: string
  /** Where people read what is decided; on one machine unless given. */
  readonly place?: Place
  readonly snapshot: Snapshot
  readonly record: ClusterRecord | undefined
  readonly notes: ClusterNotes
  /**
   * Why the stored notes cannot be used, in a sentence with the cure: `notes` are then what this manager knew last.
   * Absent or '' where they can.
   */
  readonly notesDamage?: string
  /** The recovery that is under way, by this manager's book. Absent for none. */
  readonly recovery?: Recovery
  readonly spec: ClusterSpec
  /** Whether a server that answers follows as the record wants: what that means is the mode's. */
  readonly follows: Follows
  readonly timings: Timings
  readonly requests: readonly Request[]
  /** Monotonic and wall milliseconds of this decision. */
  readonly nowMs: number
  readonly wallMs: number
  /** The wall clock of `steadyWall` (`src/common/ports`): deadlines of switchovers that this manager run began. */
  readonly steadyWallMs: number
  /** Random id of this manager run, and when (monotonic) it began to listen. */
  readonly manager: string
  readonly managerSinceMs: number
  /** Since when (monotonic) it leads. What it heard before may have got old while it was starved or read the record. */
  readonly leadsSinceMs: number
  readonly published: PrimaryRoute | undefined
  /** Since when (monotonic) each replica has not been following as the record wants; absent while it follows. */
  readonly strayingSince: ReadonlyMap<InstanceName, number>
  /**
   * Since when (monotonic) the same transactions wait at the primary although enough replicas hold them (`deaf.ts`);
   * null while none do.
   */
  readonly deafSinceMs: number | null
  /**
   * Since when (monotonic) nobody can confirm the lease of a silent primary any more (`lease-out.ts`); null while
   * somebody can.
   */
  readonly leaseBlockedSinceMs: number | null
  /**
   * What each replica was shown to lack of what its primary executed before the place to which the replica has read
   * (`holes.ts`): '' for nothing; absent while nothing is shown.
   */
  readonly passedOver: ReadonlyMap<InstanceName, GtidText>
  /** Orders sent and not answered yet, by instance, with when (monotonic) they were sent. */
  readonly inFlight: ReadonlyMap<InstanceName, { readonly order: string; readonly sinceMs: number }>
  /** Orders to be seeded that were refused, by instance. */
  readonly refused: ReadonlyMap<InstanceName, Refusal>
  /**
   * Why a request cannot go on, by its id: an order that served it was refused or timed out. Fetches of a failover are
   * in it for a while too, by `fetchKey`.
   */
  readonly failedRequests: ReadonlyMap<string, RequestFailure>
  /** Whose volumes a person gave up, as far as this manager was asked: their agents may not know it yet. */
  readonly givenUp: readonly MemberId[]
}

/** Why an order that served a request failed. */
export interface RequestFailure {
  readonly why: string
  /** The agent did not answer in time, or could not do in time what was asked. */
  readonly timedOut: boolean
}

/** An order that an agent refused, how often in a row with the same code, and when the last time (monotonic). */
export interface Refusal {
  readonly error: string
  readonly times: number
  readonly atMs: number
}

/** A decision's input once there is a record. */
export interface Situation extends DecisionInput {
  readonly record: ClusterRecord
}

/** An instance with an observation that is believed now. */
export interface LiveView extends InstanceView {
  readonly observation: Observation
}

export function isLive(view: InstanceView | undefined): view is LiveView {
  return view !== undefined && view.reachable && view.observation !== null
}

/** The word of one agent stands for all: the primary's agent may have fallen silent before this manager came. */
export function isFar({ snapshot }: Pick<Situation, 'snapshot'>): boolean {
  return snapshot.instances.some(({ observation }) => observation?.reachedBy !== undefined)
}

/** What was asked of this primary. */
export function switchoverAsked({ requests, record }: Situation): Extract<Request, { kind: 'switchover' }> | undefined {
  const primary = instanceOf(record.primary)
  return requests.find((request) => request.kind === 'switchover' && (request.from ?? primary) === primary) as
    Extract<Request, { kind: 'switchover' }> | undefined
}

export function viewNamed(snapshot: Snapshot, name: InstanceName): InstanceView | undefined {
  return snapshot.instances.find((view) => view.name === name)
}

/** The view of a member: of its instance, unless that now lives on another volume and so is somebody else. */
export function viewOf(snapshot: Snapshot, member: MemberId): InstanceView | undefined {
  const view = viewNamed(snapshot, instanceOf(member))
  return view?.observation && view.observation.member !== member ? undefined : view
}

export function liveView(snapshot: Snapshot, member: MemberId): LiveView | undefined {
  const view = viewOf(snapshot, member)
  return isLive(view) ? view : undefined
}

export function liveViews(snapshot: Snapshot): readonly LiveView[] {
  return snapshot.instances.filter(isLive)
}

/** Without a record: an instance has promised an epoch, so there was one. */
export function isRecordLost({ snapshot }: Pick<DecisionInput, 'snapshot'>): boolean {
  return liveViews(snapshot).some(({ observation: { stored } }) => stored.promise > 0)
}

export function endpointOf(view: InstanceView): Endpoint {
  return { instance: view.name, host: view.host, port: view.port, agent: view.agent }
}

/** An agent is silent and was heard a moment ago: its connection has just ended, or its words are not believed yet. */
export function wasHeardLately(
  { reachable, heardAtMs }: InstanceView,
  { nowMs, timings }: Pick<Situation, 'nowMs' | 'timings'>,
): boolean {
  return !reachable && heardAtMs !== null && nowMs - heardAtMs < timings.unreachableMs
}

/** An instance has promised an epoch beyond that of the record. */
export function hasPromised({ epoch }: Pick<ClusterRecord, 'epoch'>, { stored }: Observation): boolean {
  return stored.promise > epoch
}

/** mysqld runs and answered lately. */
export function isServing(view: InstanceView | undefined, timings: Timings): view is LiveView {
  if (!isLive(view)) return false
  const { process, server, silentMs } = view.observation
  return process === 'running' && server !== null && silentMs < timings.frozenMs
}

/** The record's primary is open in its epoch, its agent says so now, and enough replicas can acknowledge. */
export function isWritable({ record, snapshot }: DecisionInput): boolean {
  if (record === undefined) return false
  const view = snapshot.instances.find(({ observation }) => observation?.member === record.primary)
  return view?.reachable === true && view.observation !== null && isOpenFor(record, view.observation, 0)
}

/**
 * The primary took writes by the last word of its agent. The word may be old: a server that was silent since is no
 * news.
 */
export function wasOpen(record: ClusterRecord, seen: Observation | null): boolean {
  return seen !== null && isOpenFor(record, seen, Infinity)
}

function isOpenFor(
  record: ClusterRecord,
  { server, stored, converged, process, silentMs }: Observation,
  longestSilenceMs: number,
): boolean {
  const { assignment } = stored
  if (server === null || process !== 'running' || silentMs > longestSilenceMs) return false
  if (assignment?.role !== 'primary' || assignment.epoch !== record.epoch || !converged.done) return false
  const acknowledging = server.dumpThreads.filter((thread) => thread.semiSync).length
  return isOpenToClients(server) && acknowledging >= record.acksWanted
}

function isOpenToClients(server: ServerState): boolean {
  return !server.readOnly && !server.offlineMode && settingsRefusingWrites(server).length === 0
}

/** Settings that another hand changed, and with which a client's session that begins now cannot write. */
export function settingsRefusingWrites({ changedSettings = [] }: ServerState): readonly ChangedSetting[] {
  return changedSettings.filter(({ refusesWrites }) => refusesWrites === true)
}

/** Follows as the record wants, by what that means in its mode. */
export function isFollowing(
  view: InstanceView | undefined,
  { record, timings, follows }: Pick<Situation, 'record' | 'timings' | 'follows'>,
): view is LiveView {
  return isServing(view, timings) && follows(view.observation, record)
}

/**
 * Also says of itself that it has done all that this revision told it. Its channel was looked at before it was told,
 * perhaps: what it says is newer.
 */
export function isFollowingAsTold(view: InstanceView | undefined, situation: Situation): view is LiveView {
  return (
    isFollowing(view, situation) &&
    view.observation.converged.done &&
    view.observation.converged.revision === situation.record.revision
  )
}

/** The replica has not followed for so long that it is no reconnection. */
export function hasStrayedLong({ strayingSince, nowMs, timings }: Situation, member: MemberId): boolean {
  const since = strayingSince.get(instanceOf(member))
  return since !== undefined && nowMs - since >= timings.removeFromSyncSetMs
}

export function isFenced(notes: ClusterNotes, instance: InstanceName): boolean {
  return notes.fenced.some((fence) => fence.instance === instance)
}

/** Instances this cluster should have: as scaled by a person, else as in the spec. */
export function wantedInstances(input: DecisionInput): number {
  return input.notes.instances ?? input.spec.instances
}

/**
 * Instances that should not lead nor be counted any more: instances beyond the number wanted, instances that were told
 * to end, and instances whose volumes were given up.
 */
export function departing(input: DecisionInput): readonly InstanceName[] {
  const { snapshot, givenUp } = input
  const ending = snapshot.instances.filter(
    ({ observation }) => observation && (observation.terminating || givenUp.includes(observation.member)),
  )
  return [...new Set([...leavers(input), ...ending.map(({ name }) => name)])]
}

/** Instances beyond the number wanted. */
export function leavers(input: DecisionInput): readonly InstanceName[] {
  return input.snapshot.instances.map(({ name }) => name).filter((name) => ordinalOf(name) >= wantedInstances(input))
}

export function names(members: readonly MemberId[]): string {
  return members.length === 0 ? 'nobody' : allOf(members.map(instanceOf))
}
