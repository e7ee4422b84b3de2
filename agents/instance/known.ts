import { say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { freshLife, type Life } from './life.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import type { StoppedThread } from '#failover/protocol/channel-options.ts'
import type { Comparing } from '#failover/protocol/word.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { BinlogArchiveSeen, HoleClosingSeen } from '#topology/snapshot/binlog-archive.ts'
import type { BackupFailures, BackupSeen, BackupsSeen, RehearsalSeen } from '#topology/snapshot/copies.ts'
import type { Lack, PromiseReport } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/**
 * What one run of an agent knows besides what is on disk. Only `learn` writes here, by the facts of `facts.ts`. Times
 * are monotonic milliseconds.
 */
export interface Known {
  readonly told: Told
  readonly contact: Contact
  readonly course: Course
  readonly doubts: Doubts
  readonly guards: Guards
  readonly copying: Copying
  readonly jobs: Jobs
  readonly pod: Pod
}

/** What managers told this run, and orders on disk do not say. */
export interface Told {
  /** What the primary held at the newest assignment: needed to judge a tail. */
  readonly sourceHolds: GtidText | null
  /**
   * The same, said by the primary after it had heard of what this replica forgot last: what it has to catch up to. What
   * was said before may be less than was forgotten.
   */
  readonly catchUpTo: GtidText | null
  /** The set that this primary was elected for, as the newest order named it; null where no order of this run did. */
  readonly elected: GtidText | null
  /** As a primary: the replicas that a manager said are forgetful, by `forgetfulAs`. */
  readonly heardForgetful: Readonly<Record<InstanceName, string>>
  /** As a primary: the newest question of a manager, and the newest before that whose answer is known. */
  readonly compares: { readonly asked: Question | null; readonly answered: Question | null }
  /** As a replica: what its source never had; '' for nothing. */
  readonly errant: GtidText
  /** What its binlogs say of that; null before they were read. */
  readonly errantJudged: { readonly of: GtidText; readonly changesNothing: boolean } | null
  /** The manager allowed the primary's server to start again although it ended by itself. */
  readonly mayRestart: boolean
  /**
   * A manager told it what to be since it started, or its volume stayed where it was: nobody put an older one there.
   */
  readonly trustsAssignment: boolean
  /** What it does about backups while it is the primary's; null for nothing, and before it was told. */
  readonly backups: BackupTask | null
}

/** A look with a higher number than `afterLook` began after the question had arrived. */
export interface Question extends Comparing {
  readonly afterLook: number
}

/** When others were heard last. */
interface Contact {
  /** The last order, confirmation or word of a manager. */
  readonly managerHeardAtMs: number
  readonly peersHeard: ReadonlyMap<InstanceName, number>
}

/** Where convergence is. */
export interface Course {
  /** The life of the mysqld that runs or ended last: read by `lifeOf`. */
  readonly life: Life
  readonly promiseReport: PromiseReport | null
  /** Promised, and its receiver goes on: it hears the candidate of the switchover, and nobody else. */
  readonly receiverKept: boolean
  /** Sentence and progress of convergence. */
  readonly converged: { readonly revision: number; readonly done: boolean; readonly sentence: Said }
  /** Since when the primary of this epoch does not take writes because it opens; null once it does. */
  readonly openingSince: { readonly epoch: number; readonly atMs: number } | null
  /** The view by which its group elected this instance, and since when the server was seen read-only in that view. */
  readonly electedSince: { readonly viewId: string; readonly atMs: number } | null
  /**
   * Its server ended while it was primary, or perhaps before this run of the agent: opening it again needs a marker
   * first.
   */
  readonly reopening: boolean
  /** What a server that does not answer holds, as its files or its promise say; null once the server says so itself. */
  readonly binlogSet: GtidText | null
  /** Address that its channel was pointed to, or found to be: another one is somebody's hand. */
  readonly pointedTo: string | null
}

/** What is doubted of what this instance holds (`agents/doubts/`). */
export interface Doubts {
  /**
   * How often it was doubted that replicas hold all that was acknowledged, and writes under way that end a doubt
   * (`unsettled.ts`).
   */
  readonly raised: number
  readonly settling: number
  /**
   * The newest doubt whose mark is not on disk, by how many were raised then; 0 for none. Shown like one that is: a
   * disk that takes no write, or answers nothing, must neither hide a death nor its doubt.
   */
  readonly unkept: number
  /** How its mysqld ended was looked at, so that its death may be shown. */
  readonly endingJudged: boolean
  /** The silence of a primary's server was looked into up to here (see `ending.ts`). */
  readonly silenceSeenUpToMs: number
  /** All that it held as a replica when it was last looked at; null while unknown. */
  readonly seenToHold: GtidText | null
  /** What somebody threw away of that: until it is held again, this replica counts for nothing. */
  readonly thrownAway: GtidText
  /** How often that was seen since the agent started. */
  readonly timesForgotten: number
  /** What the server lacks of the set that it was elected for; '' for nothing. */
  readonly lacksElected: GtidText
  /** Its GTIDs were reset while its server ran; on disk as well, but for a moment. */
  readonly gtidsReset: boolean
}

/** What keeps watch beside (`agents/guard/`). */
export interface Guards {
  /** Why the primary keeps itself closed, by who closed it; null for no reason. Only the owner ends a reason. */
  readonly closed: { readonly lease: Sentence | null; readonly space: Sentence | null }
  /** Sessions in the way of the agent's statements, and of which statements; null for none. */
  readonly lockedBy: Sentence | null
  /** What failovers rest upon and is not there, by the last look at that. */
  readonly lacks: readonly Lack[]
  /**
   * Options of its channel that were to be put right, by the thread that is stopped for it: as they were seen, and
   * until when that is not tried again.
   */
  readonly optionsTried: ReadonlyMap<StoppedThread, { readonly what: string; readonly untilMs: number }>
}

/** A copy of another instance that is made here, or was tried. */
export interface Copying {
  readonly progress: {
    readonly stage: Sentence
    readonly percent: number
    readonly donor: string
    /** When something came last of an instance that is copied; null where nothing is to come. */
    readonly movedAtMs: number | null
  } | null
  /** The epoch in which a copy is made beside what is here, which stays promised. */
  readonly besideEpoch: number | null
  /** By donor, copies that failed since this agent started or was last seeded. */
  readonly failures: ReadonlyMap<string, FailedCopies>
}

interface FailedCopies {
  readonly times: number
  /** Why the last time, and whether that was a refusal: trying again soon would come to the same. */
  readonly error: string
  readonly isRefused?: boolean
  readonly atMs: number
}

/** What goes on in the background, because it may take long. */
export interface Jobs {
  /** Switching the source's side of semi-sync off. */
  readonly switchingOff: Promise<void> | null
  /** Waiting for strangers' dump threads to be gone. */
  readonly cuttingOff: Promise<void> | null
  /** Other passwords are being given to accounts. */
  readonly changesPasswords: boolean
  /** Empty transactions are being written. */
  readonly empties: boolean
  /** A marker is being written that proves a revision. */
  readonly writesMarker: boolean
  /** Markers that are being written to wake who waits, and the connections for which the newest is written. */
  readonly wakers: { readonly count: number; readonly connections: string }
  /** The replication group is being joined or formed. */
  readonly startingGroup: Promise<void> | null
  /** mysqld is older than this run: an agent that died may have had it join a group, which may still be under way. */
  readonly mayBeStartingGroup: boolean
  /** Why that failed the last time; '' where it did not. */
  readonly groupFailure: string
  /** How often in a row it was not a member for long, and until when it does not try again. */
  readonly groupPause: { readonly times: number; readonly untilMs: number }
  /** The others are not ready for it before. To form a group it need not wait: there are no others. */
  readonly joinsNotBeforeMs: number
  /** The epoch in which it was told to stay out of its group. Null once it has waited for its turn to join. */
  readonly joinsInTurn: number | null
  /** A copy of its server is being streamed to somebody, or what is left of one is being removed. */
  readonly streamsCopy: boolean
  /** The newest base backup that is or was made here since the agent started. */
  readonly backup: BackupSeen | null
  /** The same of rehearsals; or the one that failed before. */
  readonly rehearsal: RehearsalSeen | null
  /** How its shipping of binlogs goes; null where none was begun. */
  readonly binlogArchive: BinlogArchiveKnown | null
  /** How often each work for backups failed since the agent started. */
  readonly backupFailures: BackupFailures
  /** When the newest heartbeat that was acknowledged was begun, by the wall clock; null for none. */
  readonly heartbeatAtMs: number | null
  /** How the shipping goes of what the archive lacked; null where none was begun. */
  readonly closesHole: HoleClosingKnown | null
  /** What it saw in the store of backups, of this task; null before the first look. */
  readonly backups: StoreSeen | null
  /** The others are asked to remove the member that its dead mysqld was. */
  readonly expelling: Promise<void> | null
  /** Addresses of members that the group is being asked to remove since nobody hears them. */
  readonly expellingSilent: ReadonlySet<string>
}

/** What is known of the archive of binlogs as a primary. */
export interface BinlogArchiveKnown extends Pick<BinlogArchiveSeen, 'hole' | 'trouble'> {
  /** When all that was executed was shipped, in monotonic milliseconds; null before that was so once. */
  readonly atMs: number | null
  /** What the archive has, or needs no more; null while unknown. */
  readonly gtids: GtidText | null
  /** What the archive needs, and no binlog here holds any more; '' for nothing. */
  readonly lacks: GtidText
}

/** With when that was said, in monotonic milliseconds. */
export interface HoleClosingKnown extends Omit<HoleClosingSeen, 'agoMs'> {
  readonly atMs: number
}

/** With when, in monotonic milliseconds, the store was last seen. */
export interface StoreSeen extends Omit<BackupsSeen, 'lookedAgoMs'> {
  readonly lookedAtMs: number | null
}

/** The end of its pod, or of its part in the cluster. */
export interface Pod {
  /** Told to end, since when, and whether its server is being stopped: it is not started any more. */
  readonly termination: { readonly sinceMs: number; readonly stopping: boolean } | null
  /** A caller wants the instance to leave its cluster, until then unless that is said again (`leaving.ts`). */
  readonly leavesUntilMs: number
  /** The instance has left its cluster, or is just leaving for good: it stays out until it is told to come back. */
  readonly hasLeft: boolean
  /** A person wants mysqld to stop in order and to start again, and has the wish until then; null for no wish. */
  readonly restartsUntilMs: number | null
}

/** Why the primary keeps itself closed; null where nothing does. */
export function whyClosed({ closed }: Pick<Guards, 'closed'>): Sentence | null {
  return closed.lease ?? closed.space
}

/** What an agent knows that starts now. */
export function nothingKnown(nowMs: number): Known {
  return {
    told: {
      sourceHolds: null,
      catchUpTo: null,
      elected: null,
      heardForgetful: {},
      compares: { asked: null, answered: null },
      errant: '',
      errantJudged: null,
      mayRestart: false,
      trustsAssignment: false,
      backups: null,
    },
    contact: { managerHeardAtMs: nowMs, peersHeard: new Map() },
    course: {
      life: freshLife(null),
      promiseReport: null,
      receiverKept: false,
      converged: { revision: 0, done: false, sentence: say`starting` },
      openingSince: null,
      electedSince: null,
      reopening: false,
      binlogSet: null,
      pointedTo: null,
    },
    doubts: {
      raised: 0,
      settling: 0,
      unkept: 0,
      endingJudged: false,
      silenceSeenUpToMs: nowMs,
      seenToHold: null,
      thrownAway: '',
      timesForgotten: 0,
      lacksElected: '',
      gtidsReset: false,
    },
    guards: { closed: { lease: null, space: null }, lockedBy: null, lacks: [], optionsTried: new Map() },
    copying: { progress: null, besideEpoch: null, failures: new Map() },
    jobs: {
      switchingOff: null,
      cuttingOff: null,
      changesPasswords: false,
      empties: false,
      writesMarker: false,
      wakers: { count: 0, connections: '' },
      startingGroup: null,
      mayBeStartingGroup: false,
      groupFailure: '',
      groupPause: { times: 0, untilMs: 0 },
      joinsNotBeforeMs: -Infinity,
      joinsInTurn: null,
      backup: null,
      rehearsal: null,
      binlogArchive: null,
      heartbeatAtMs: null,
      backupFailures: { backup: 0, rehearsal: 0, archive: 0, retention: 0 },
      closesHole: null,
      backups: null,
      streamsCopy: false,
      expelling: null,
      expellingSilent: new Set(),
    },
    pod: { termination: null, leavesUntilMs: -Infinity, hasLeft: false, restartsUntilMs: null },
  }
}
