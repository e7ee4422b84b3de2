import { say, type Sentence } from '#common/sentence/sentence.ts'

/**
 * Every duration of the safety core, in one place. `checkTimings` refuses combinations that contradict each other.
 * All are milliseconds.
 */
export interface Timings {
  /** How often the agent reads mysqld's process state, unless it is a replica's. */
  readonly processWatchMs: number
  /**
   * How often it reads a replica's: nobody waits for that to be seen, and looking is most of what an idle agent costs.
   */
  readonly replicaWatchMs: number
  /** How often the agent asks the server everything; shorter while something changes. */
  readonly observeMs: number
  /** A query that takes longer is an observation of its own. */
  readonly queryDeadlineMs: number
  /**
   * How often the agent tries whether a client's write would go through, and with every third try what the disk says; a
   * try that takes longer holds back the next one.
   */
  readonly writeProbeMs: number
  /** Neither admin interface nor write probe answered for this long: the server is frozen. */
  readonly frozenMs: number
  /**
   * In mode `group`: a member whose process was stopped (SIGSTOP) for this long is ended, where the others are a
   * majority.
   */
  readonly stoppedMs: number
  /**
   * A primary's silence is not shown before its error log was looked into, but for so long at most: a disk that answers
   * nothing must not hide it.
   */
  readonly lookIntoLogMs: number
  /** The agent sends its observation at least this often. */
  readonly heartbeatMs: number
  /**
   * A lock of somebody else that keeps the agent, for so long, from what makes a primary take writes again, or keeps
   * them safe, loses its session.
   */
  readonly lockGraceMs: number
  /** No word from an agent for this long: it is unreachable. */
  readonly unreachableMs: number
  /**
   * A primary that neither the manager nor a majority of the cluster's agents has confirmed for this long, counted from
   * when it asked, closes itself.
   */
  readonly leaseMs: number
  /**
   * How often a primary asks its peers, and where these do not confirm a manager, to confirm its lease; and how long a
   * word about it may take from one to the other.
   */
  readonly leaseRenewMs: number
  /**
   * An agent that stood still while its lease ran out (its machine was paused) asks for so long before it closes the
   * primary.
   */
  readonly leaseAfterPauseMs: number
  /** A counted replica that does not follow for this long leaves the sync set. */
  readonly removeFromSyncSetMs: number
  /** mysqld ended and no manager was heard for this long: the primary's agent starts it again by itself. */
  readonly restartAloneMs: number
  /** A mysqld that does not answer this long after its start is given up. */
  readonly startMs: number
  /**
   * A primary that was elected, and has applied what it had received for this long without an end, gives way to a
   * member that is done with that, or nearly.
   */
  readonly slowOpeningMs: number
  /**
   * A primary whose writes wait for this long, although as many replicas hold them as must acknowledge, hears its
   * replicas no more, and another one is elected.
   */
  readonly deafMs: number
  /**
   * An agent's answer to an order is waited for this long, beyond what the order itself allows, and twelve times as
   * long to be seeded; it is also what a fetch is allowed, and how long a manager that has just begun to lead waits for
   * members that it has not heard.
   */
  readonly orderDeadlineMs: number
  /**
   * How long a commit waits for promises that are under way beyond those it needs, so that these members stay in the
   * sync set.
   */
  readonly stragglerMs: number
  /**
   * A manager's claim to lead is good for this long and renewed four times in it, where it is kept in the store of the
   * records.
   */
  readonly leadershipMs: number
}

export const defaultTimings: Timings = {
  processWatchMs: 10,
  replicaWatchMs: 50,
  observeMs: 500,
  queryDeadlineMs: 800,
  writeProbeMs: 500,
  frozenMs: 1_200,
  stoppedMs: 800,
  lookIntoLogMs: 5_000,
  lockGraceMs: 1_000,
  heartbeatMs: 300,
  unreachableMs: 1_200,
  leaseMs: 6_000,
  leaseRenewMs: 1_500,
  leaseAfterPauseMs: 1_000,
  removeFromSyncSetMs: 2_000,
  restartAloneMs: 15_000,
  startMs: 60_000,
  slowOpeningMs: 10_000,
  deafMs: 3_000,
  orderDeadlineMs: 5_000,
  stragglerMs: 60,
  leadershipMs: 3_000,
}

/** How often a manager that leads says so to the agent of a primary: two such words may be lost one after the other. */
export function leaderWordMs({ restartAloneMs }: Pick<Timings, 'restartAloneMs'>): number {
  return restartAloneMs / 3
}

/** An agent of a primary that heard no manager for so long asks: an older manager says nothing unasked. */
export function unheardLeaderMs({ restartAloneMs }: Pick<Timings, 'restartAloneMs'>): number {
  return restartAloneMs / 2
}

/** A primary whose peers confirmed nothing that it asked within this time asks a manager too. */
export function silentPeersMs({ leaseRenewMs }: Pick<Timings, 'leaseRenewMs'>): number {
  return leaseRenewMs * 1.5
}

/** A member of a replication group that has answered nothing for so long is silent. The group itself waits for 5 s. */
export function silentMemberMs({ unreachableMs }: Pick<Timings, 'unreachableMs'>): number {
  return unreachableMs
}

/** How late a primary may notice that its lease ran out, and be closed or killed. */
export const closesWithinMs = 500

/**
 * So long after nobody can confirm the lease of a primary any more it has closed itself, whoever hears it: its clock
 * may be slower by a hundredth.
 */
export function leaseSurelyOutMs({ leaseMs }: Pick<Timings, 'leaseMs'>): number {
  return leaseMs * 1.01 + closesWithinMs
}

/**
 * The first contradiction in these timings as a sentence, or undefined. An agent may have timings of its own. Managers
 * go by the defaults: what they rest upon of an agent's is bounded by those.
 */
export function contradictionIn(timings: Timings): Sentence | undefined {
  const { leaseMs, unreachableMs } = defaultTimings
  const rules: readonly (readonly [boolean, Sentence])[] = [
    [timings.leaseRenewMs * 3 <= timings.leaseMs, say`leaseRenewMs × 3 must not exceed leaseMs`],
    [timings.leaseAfterPauseMs <= timings.leaseRenewMs, say`leaseAfterPauseMs must not exceed leaseRenewMs`],
    [timings.heartbeatMs * 3 <= timings.unreachableMs, say`heartbeatMs × 3 must not exceed unreachableMs`],
    [timings.stoppedMs <= timings.frozenMs, say`stoppedMs must not exceed frozenMs`],
    [timings.queryDeadlineMs <= timings.frozenMs, say`queryDeadlineMs must not exceed frozenMs`],
    [timings.queryDeadlineMs <= timings.lockGraceMs, say`queryDeadlineMs must not exceed lockGraceMs`],
    [timings.processWatchMs <= timings.observeMs, say`processWatchMs must not exceed observeMs`],
    [timings.replicaWatchMs <= timings.observeMs, say`replicaWatchMs must not exceed observeMs`],
    [timings.unreachableMs < timings.leaseMs, say`unreachableMs must be shorter than leaseMs`],
    [
      timings.leaseMs <= leaseMs,
      say`leaseMs must not exceed ${leaseMs}: managers wait for no longer lease before another leads`,
    ],
    [
      timings.heartbeatMs * 3 <= unreachableMs,
      say`heartbeatMs must not exceed ${unreachableMs / 3}: managers take an agent for unreachable that is silent for ${unreachableMs}`,
    ],
  ]
  return rules.find(([holds]) => !holds)?.[1]
}

/** A server that runs and has answered nothing for so long hangs: longer than a busy machine or a lock takes. */
export const hungMs = 30_000

/**
 * A copy of which nothing came for so long is ended, where its manager has not heard the agent of the donor for as long
 * either: MySQL itself would wait for 300 s. A disk that syncs, or a lock at the donor, may hold a copy up for longer,
 * and the agent of such a donor is heard; a network that was cut for a moment goes on within that.
 */
export const vanishedDonorMs = 30_000
