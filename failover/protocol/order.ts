import type { InstanceName, MemberId } from '../../topology/snapshot/member.ts'
import type { GtidText, Observation } from '../../topology/snapshot/observation.ts'

/** Version of the wire messages between manager and agents. */
export const orderVersion = 1

/** Where a peer is reached. */
export interface Endpoint {
  readonly instance: InstanceName
  readonly host: string
  readonly port: number
  /** `host:port` of its agent. */
  readonly agent: string
}

interface OrderBase {
  readonly version: number
  readonly cluster: string
  /** The instance and volume it is meant for; any other refuses it. */
  readonly member: MemberId
  readonly epoch: number
  /** Revision of the record it follows from. */
  readonly revision: number
}

interface AssignmentBase extends OrderBase {
  /** Everybody in the cluster, for gates, leases and peers. */
  readonly peers: readonly Endpoint[]
  /** Read-only and offline by a person's wish, until unfenced. */
  readonly fenced: boolean
  /**
   * The start of the agent (`agentRun`) that this was made for. Any other start refuses the assignment: what it says of
   * the source may be older than what this agent has forgotten since. Absent for an older agent, which refuses the
   * word, and from an older manager.
   */
  readonly run?: string
  /** In mode `group` alone. */
  readonly group?: GroupTask
}

/** What a member of a replication group is to do about the group. */
export interface GroupTask {
  /** `group_replication_group_name`. */
  readonly name: string
  /**
   * `form`: begin the group, alone, where its agent has not stored that this was done in this epoch. `join`: be a
   * member of the group that others are in. `stayOut`: the record does not admit this instance, nobody has formed
   * the group yet, or the group runs a higher version only.
   */
  readonly does: 'form' | 'join' | 'stayOut'
  /** `group_replication_consistency`. */
  readonly consistency: string
}

export interface PrimaryAssignment extends AssignmentBase {
  readonly role: 'primary'
  /** A: replicas whose acknowledgement counts. Their gates are open. */
  readonly counted: readonly InstanceName[]
  /**
   * `server_uuid` of each counted replica, '' while unknown: then its account alone tells who it is. Absent: unknown
   * for all.
   */
  readonly countedUuids?: Readonly<Record<InstanceName, string>>
  /**
   * Replicas that only catch up: they stored, at this revision or later, an assignment with semi-sync off. Gates open,
   * never counted.
   */
  readonly catchingUp: readonly InstanceName[]
  /**
   * Replicas that a switchover has connected to it beforehand; when it opens, only their dump threads are left alone.
   * Absent means nobody.
   */
  readonly connected?: readonly InstanceName[]
  /** k the server waits for; 0 means that nothing is waited for. */
  readonly acks: number
  /** Its server may be started although it ended by itself (no failover happens). */
  readonly mayRestart: boolean
  /**
   * Somebody is copied from it while too few can acknowledge: it stays closed and writes no marker, for a copy does not
   * end while a write waits. Only said where it is so: an agent that does not know the word refuses the order.
   */
  readonly donates?: true
  /**
   * The set that this primary was elected for: without the whole of this set its server stays closed. Only said to an
   * agent that shows `lacksElected`: an older agent refuses the order.
   */
  readonly elected?: GtidText
}

export interface ReplicaAssignment extends AssignmentBase {
  readonly role: 'replica'
  readonly source: Endpoint
  /** Semi-sync on: it is counted at this revision. */
  readonly counted: boolean
  /** `server_uuid` of the source: its own newer transactions are no errant ones. '' while unknown. */
  readonly sourceUuid: string
  /**
   * What the primary held before this was sent. A tail outside of it is trimmed: that of a server that is down, which
   * has sent nothing since the primary was elected, so that any look at the primary since then is new enough.
   */
  readonly sourceHolds: GtidText
  /**
   * The primary held `sourceHolds` after it had heard of what this replica forgot, by `forgetfulAs`: with all of that
   * it counts again. Only said to an agent that shows that text: an older agent refuses the order.
   */
  readonly catchUpFor?: string
  /** What the primary no longer has in its binlogs. */
  readonly sourcePurged: GtidText
  /**
   * What it holds and the primary is proven never to have had; '' for nothing. Only said to an agent that shows
   * `errantTold`: an older agent refuses the order, and judges by `sourceHolds`.
   */
  readonly errant?: GtidText
  /**
   * It was passed over, and lacks what its source never sends again: it stands by until it is seeded. Only said where
   * it is so, which only an agent shows that takes the word (`Channel.hasRead`).
   */
  readonly passedOver?: true
  /**
   * False: everything is prepared, and the receiver starts when the source has set its gates, or when this one, empty
   * as it is, has its copy. Absent means true.
   */
  readonly sourceReady?: boolean
}

/** What an agent is told to be. It makes it so and keeps it so. */
export type Assignment = PrimaryAssignment | ReplicaAssignment

/** Promise `epoch` (the record's + 1): stop, then report what is held. */
export interface PromiseOrder extends OrderBase {
  /** Wait, at most `waitMs`, until this set is received before stopping (a switchover's last transactions). */
  readonly after: GtidText
  readonly waitMs: number
  /**
   * A switchover's candidate: a receiver that follows it already goes on. Absent, as in every failover: it is stopped,
   * whomever it follows.
   */
  readonly keepReceiverFrom?: InstanceName
  /** It is to lead, or will most likely: it makes ready as soon as it has reported. */
  readonly prepare?: boolean
}

/**
 * First half of a switchover, at the primary: stop taking writes, let what waits finish, then promise `epoch`. Undone
 * by the agent itself if it fails.
 */
export interface DemoteOrder extends OrderBase {
  /** Time running statements and idle transactions get before they are killed. */
  readonly graceMs: number
  readonly deadlineMs: number
  /** In mode `group`: the `server_uuid` of the member that the group is to make primary. */
  readonly electUuid?: string
}

/** Follow a member until `until` is held, under a promise and an intent, before a commit. */
export interface FetchOrder extends OrderBase {
  readonly from: Endpoint
  readonly until: GtidText
  readonly deadlineMs: number
}

/** Archive what is errant, then replace everything by a copy of `donor`. Names exactly what it destroys. */
export interface ReseedOrder extends OrderBase {
  /**
   * The sync set cannot spare it: what it has stays, beside the copy, until that is proven to hold all of
   * `sourceHolds`. The donor is the primary, closed.
   */
  readonly beside?: true
  readonly donor: Endpoint
  readonly source: Endpoint
  readonly destroys: GtidText
  /** As in `ReplicaAssignment`: the copy must have none of these. */
  readonly errant?: GtidText
  readonly sourceHolds: GtidText
  readonly peers: readonly Endpoint[]
}

/**
 * Its volume went back in time: whoever it takes itself for has promised and received more. It gives up that name, with
 * promise, role and place in the sync set, and goes on as a new member that is to be seeded.
 */
export interface RenounceOrder extends OrderBase {
  /** The one that was judged; any later one refuses. */
  readonly incarnation: string
}

/**
 * Gives the accounts for people and applications, at the primary, the passwords of a generation. Every agent derives
 * them: none is sent.
 */
export interface PasswordsOrder extends OrderBase, PasswordsWish {}

/**
 * The primary writes an empty transaction with each of these GTIDs: on `of` they are of statements that changed no
 * data, which its agent has read in its binlog.
 */
export interface EmptyOrder extends OrderBase {
  readonly of: InstanceName
  readonly gtids: GtidText
}

export interface PasswordsWish {
  /** '' for the first passwords. */
  readonly generation: string
  /** What becomes of those that were before: accepted too, or not any more. */
  readonly old: 'kept' | 'discarded'
}

/**
 * Has the replication group remove a member that nobody hears, before the group gives that member up by itself. An
 * agent that hears the member refuses.
 */
export interface ExpelOrder extends OrderBase {
  readonly silent: Endpoint
}

/** The manager confirms the epoch, from a record read begun after the question arrived. */
export interface LeaseConfirmation extends OrderBase {
  readonly question: number
  /**
   * Replicas that are to be told what to catch up with, with their `forgetfulAs`. Only said to an agent that shows
   * `heardForgetful` and not `takesWord`: an even older agent refuses the order, a newer one is told by `LeaderWord`.
   */
  readonly forgetful?: Readonly<Record<InstanceName, string>>
}

/**
 * A manager that leads is there and has heard this primary. Said unasked, from no record: no lease is confirmed by it.
 * Only sent to an agent that shows `takesWord`: an older agent does not know the route.
 */
export interface LeaderWord extends OrderBase {
  /** Replicas that are to be told what to catch up with, with their `forgetfulAs`. Absent for none. */
  readonly forgetful?: Readonly<Record<InstanceName, string>>
  /**
   * Which of these does its server lack, by a look that begins after this has arrived? By replica, of whom it is asked
   * (`askedAs`) and which transactions. Only said to an agent that shows `compared`. Absent for no question.
   */
  readonly compare?: Comparing
}

export interface Comparing {
  /** Shown with the answer (`Observation.compared`). */
  readonly question: number
  readonly held: Readonly<Record<InstanceName, { readonly as: string; readonly gtids: GtidText }>>
}

/** What became of what the agent asked for (`Ask`). */
export interface AskAnswer extends Pick<OrderBase, 'version' | 'cluster' | 'member'> {
  readonly id: string
  readonly outcome: 'done' | 'refused' | 'timedOut'
  /** Why, or what was done. */
  readonly sentence: string
}

/** A peer has a caller who wants this instance to leave its cluster, or to come back. Said again and again. */
export interface LeavingRequest {
  readonly version: number
  readonly cluster: string
  readonly instance: InstanceName
  readonly leaves: boolean
}

export interface LeavingAnswer {
  readonly done: boolean
  /** Where the instance is on its way. */
  readonly sentence: string
}

/** A peer's question: do you know of an epoch newer than mine? */
export interface LeaseVoteRequest {
  readonly version: number
  readonly cluster: string
  readonly asking: InstanceName
  readonly epoch: number
}

export interface LeaseVote {
  readonly granted: boolean
  readonly promise: number
  /** What it has executed, so that binlogs are kept which it lacks. Absent or null: not known, or an older agent. */
  readonly executed?: GtidText | null
}

export type OrderName =
  'assign' | 'promise' | 'demote' | 'fetch' | 'reseed' | 'renounce' | 'passwords' | 'empty' | 'expel' | 'lease' | 'word'

/** Routes of the agent's HTTP interface. Orders are POSTed; each answers an `OrderAnswer`. */
export const agentRoutes = {
  observations: '/v1/observations',
  assign: '/v1/assign',
  promise: '/v1/promise',
  demote: '/v1/demote',
  fetch: '/v1/fetch',
  reseed: '/v1/reseed',
  renounce: '/v1/renounce',
  passwords: '/v1/passwords',
  empty: '/v1/empty',
  expel: '/v1/expel',
  lease: '/v1/lease',
  word: '/v1/word',
  leaseVote: '/v1/lease-vote',
  answer: '/v1/answer',
  leaving: '/v1/leaving',
} as const

/** Every order is answered with what the agent sees right after it, and the steps it took with their durations. */
export interface OrderAnswer {
  readonly observation: Observation
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  readonly ms: number
}

/**
 * What a fetch that failed is remembered by in `failedRequests`: without a revision, which each further attempt would
 * raise.
 */
export function fetchKey(candidate: MemberId, source: MemberId): string {
  return `fetch by ${candidate} from ${source}`
}
