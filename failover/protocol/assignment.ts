import {
  anyBoolean,
  byName,
  exactly,
  integer,
  matching,
  objectOf,
  oneOf,
  optional,
  text,
} from '#common/input/shapes.ts'
import type { Shaped } from '#common/input/shapes.ts'
import { endpoint, endpoints, gtids, message, name, names, uuid } from './message.ts'

/** What a member of a replication group is to do about the group. */
const groupTask = objectOf({
  /** `group_replication_group_name`. */
  name: matching('^[0-9a-f-]{36}$'),
  /**
   * `form`: begin the group, alone, where its agent has not stored that this was done in this epoch. `join`: be a
   * member of the group that others are in. `stayOut`: the record does not admit this instance, there is no group
   * yet, or none any more, or the group runs a higher version only.
   */
  does: oneOf('form', 'join', 'stayOut'),
  /** `group_replication_consistency`. */
  consistency: text(1, 32),
  /**
   * The instance is in a group that another hand formed, leaves that group, and is in doubt. The word is said only to
   * an agent that shows `proposed`: an older agent refuses the order. Absent for no.
   */
  fork: optional(exactly(true)),
})

const ofBothRoles = {
  /** Everybody in the cluster, for gates, leases and peers. */
  peers: endpoints,
  /** Read-only and offline by a person's wish, until unfenced. */
  fenced: anyBoolean,
  /**
   * The start of the agent (`agentRun`) that this was made for. Any other start refuses the assignment: what it says of
   * the source may be older than what this agent has forgotten since. Absent for an older agent, which refuses the
   * word, and from an older manager.
   */
  run: optional(name),
  /** In mode `group` alone. */
  group: optional(groupTask),
}

export const primaryAssignment = message({
  role: exactly('primary'),
  ...ofBothRoles,
  /** A: replicas whose acknowledgement counts. Their gates are open. */
  counted: names,
  /**
   * `server_uuid` of each counted replica, '' while unknown: then its account alone tells who it is. Absent: unknown
   * for all.
   */
  countedUuids: optional(byName(uuid)),
  /**
   * Replicas that only catch up: they stored, at this revision or later, an assignment with semi-sync off. Gates open,
   * never counted.
   */
  catchingUp: names,
  /**
   * Replicas that a switchover has connected to it beforehand; when it opens, only their dump threads are left alone.
   * Absent means nobody.
   */
  connected: optional(names),
  /** k the server waits for; 0 means that nothing is waited for. */
  acks: integer(0, 15),
  /** Its server may be started although it ended by itself (no failover happens). */
  mayRestart: anyBoolean,
  /**
   * Somebody is copied from it while too few can acknowledge: it stays closed and writes no marker, for a copy does not
   * end while a write waits. Only said where it is so: an agent that does not know the word refuses the order.
   */
  donates: optional(exactly(true)),
  /**
   * The set that this primary was elected for: without the whole of this set its server stays closed. Only said to an
   * agent that shows `lacksElected`: an older agent refuses the order.
   */
  elected: optional(gtids),
})

export const replicaAssignment = message({
  role: exactly('replica'),
  ...ofBothRoles,
  source: endpoint,
  /** Semi-sync on: it is counted at this revision. */
  counted: anyBoolean,
  /** `server_uuid` of the source: its own newer transactions are no errant ones. '' while unknown. */
  sourceUuid: uuid,
  /**
   * What the primary held before this was sent. A tail outside of it is trimmed: that of a server that is down, which
   * has sent nothing since the primary was elected, so that any look at the primary since then is new enough.
   */
  sourceHolds: gtids,
  /** What the primary no longer has in its binlogs. */
  sourcePurged: gtids,
  /**
   * False: everything is prepared, and the receiver starts when the source has set its gates, or when the replica,
   * empty as it is, has its copy. Absent means true.
   */
  sourceReady: optional(anyBoolean),
  /**
   * The primary held `sourceHolds` after it had heard of what this replica forgot, by `forgetfulAs`: with all of that
   * it counts again. Only said to an agent that shows that text: an older agent refuses the order.
   */
  catchUpFor: optional(name),
  /**
   * What it holds and the primary is proven never to have had; '' for nothing. Only said to an agent that shows
   * `errantTold`: an older agent refuses the order, and judges by `sourceHolds`.
   */
  errant: optional(gtids),
  /**
   * The replica was passed over, and lacks what its source never sends again: the replica stands by until it is seeded.
   * The word is said only where the replica lacks something, and only an agent that takes the word shows such a lack
   * (`Channel.hasRead`).
   */
  passedOver: optional(exactly(true)),
})

export type GroupTask = Shaped<typeof groupTask>
export type PrimaryAssignment = Shaped<typeof primaryAssignment>
export type ReplicaAssignment = Shaped<typeof replicaAssignment>

/** What an agent is told to be. The agent makes its instance so and keeps it so. */
export type Assignment = PrimaryAssignment | ReplicaAssignment
