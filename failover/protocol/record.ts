import { instanceOf, ordinalOf, type MemberId } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/** The newest version of the record that this code writes; it reads this and every older one. */
export const recordVersion = 1

/**
 * The durable truth of a cluster and the only commit point (docs/why/safety.md, "The invariant"). Every change is a
 * compare-and-swap of the whole and raises `revision` by one.
 */
export interface ClusterRecord {
  readonly version: number
  readonly cluster: string
  /** Grows with every change of primary; at most one primary per epoch. */
  readonly epoch: number
  readonly revision: number
  readonly primary: MemberId
  /** S: replicas whose acknowledgement counts. */
  readonly syncSet: readonly MemberId[]
  /** Members of the sync set that the primary must no longer count; they stay in S until a marker proves it. */
  readonly leaving: readonly MemberId[]
  /** k: acknowledgements a write needs. */
  readonly acks: number
  /** k the primary waits for; larger than `acks` only while k is being raised. */
  readonly acksWanted: number
  readonly intent: Intent | null
  /**
   * The set that the primary of this epoch was elected for. Every later commit of the epoch carries the set along. A
   * primary that lacks a part of the set does not open. A set too long for a record stands there as what the primary
   * had yet to execute. Absent in records of older versions.
   */
  readonly elected?: GtidText
  /** Absent where nobody's rows are in doubt for what a person chose. */
  readonly doubted?: Doubted
  /** In mode `group` alone. */
  readonly group?: GroupRecord
}

/**
 * A person chose a primary whose GTIDs may name other rows than those of others: one of two groups of the same name, or
 * an instance whose data are in doubt. By GTIDs nobody else can be told apart from a copy of that primary.
 */
export interface Doubted {
  /** The epoch of that primary: a copy that was made in this epoch, or a later one, proves what its member holds. */
  readonly since: number
  /** Everybody else who was known then. A member that was copied since stays here: its volume may go back in time. */
  readonly members: readonly MemberId[]
}

/** What a cluster's replication group is. */
export interface GroupRecord {
  /** `group_replication_group_name`, a UUID. The same until somebody accepts that transactions are lost. */
  readonly name: string
  /**
   * The primary of this epoch is to form the group, alone. Nobody joins before the primary's agent has stored that the
   * group is formed.
   */
  readonly forming: boolean
  /**
   * `VIEW_ID` by which the group was formed, or followed last to another primary. A group of this name that was formed
   * at another time is another hand's. Absent before the group is formed, and in older records.
   */
  readonly view?: string
  /**
   * Two groups of this name went on apart, and a person chose among them. Until one of them is formed anew nobody is
   * elected by what the members hold: both gave the same names. Absent for no.
   */
  readonly parted?: true
}

/**
 * What a manager is about to do before a commit. A manager that finds one of another run replaces or withdraws it
 * before it acts itself.
 */
export type Intent = FetchIntent | SwitchoverIntent

interface IntentBase {
  /** Random id of the manager run that put it there. */
  readonly by: string
}

/** The candidate (or a member of the future sync set) fetches what it lacks before the commit. */
export interface FetchIntent extends IntentBase {
  readonly kind: 'fetch'
  readonly candidate: MemberId
}

export interface SwitchoverIntent extends IntentBase {
  readonly kind: 'switchover'
  readonly candidate: MemberId
  /** The request it serves, for whoever asked. */
  readonly request: string
  /** `steadyWall` of the manager run that began it, which alone looks at it; past it the switchover is undone. */
  readonly deadlineWallMs: number
  readonly reason: string
  /** Whom the candidate gathers before the primary is demoted. Absent in records of older versions. */
  readonly gathering?: Gathering
}

/**
 * Members that follow the candidate of a switchover beforehand, so that its first write need not wait for their
 * connections.
 */
interface Gathering {
  readonly members: readonly MemberId[]
  /** `steadyWall`; past it the switchover goes on without those that are not connected yet. */
  readonly untilWallMs: number
}

/** The record with these changes, one revision later. */
export function nextRecord(record: ClusterRecord, changes: Partial<ClusterRecord>): ClusterRecord {
  return { ...record, ...changes, revision: record.revision + 1 }
}

/** All members that the record names: the primary, and the sync set with those that are leaving. */
export function recordedMembers({ primary, syncSet }: Pick<ClusterRecord, 'primary' | 'syncSet'>): readonly MemberId[] {
  return [primary, ...syncSet]
}

/** The members the primary may count: the sync set without those that are leaving. */
export function countedMembers(record: ClusterRecord): readonly MemberId[] {
  return record.syncSet.filter((member) => !record.leaving.includes(member))
}

/** So many instances there are for each that the record names to be among them. */
export function instancesIn(record: ClusterRecord): number {
  return Math.max(...recordedMembers(record).map((member) => ordinalOf(instanceOf(member)) + 1))
}

/** Members that are to follow the candidate of a switchover rather than the primary. */
export function gatheredMembers({ intent }: Pick<ClusterRecord, 'intent'>): readonly MemberId[] {
  return intent?.kind === 'switchover' ? (intent.gathering?.members ?? []) : []
}

/** Whom a replica is to follow. */
export function sourceOf(record: ClusterRecord, member: MemberId): MemberId {
  return record.intent && gatheredMembers(record).includes(member) ? record.intent.candidate : record.primary
}

/** Revision and content: another manager's commit of the same revision would have another epoch, primary or set. */
export function isSameRecord(one: ClusterRecord, other: ClusterRecord): boolean {
  return (
    one.revision === other.revision &&
    one.epoch === other.epoch &&
    one.primary === other.primary &&
    String(one.syncSet) === String(other.syncSet)
  )
}
