import { freshLife, type Life } from './life.ts'
import type { StoppedThread } from '../../failover/protocol/channel-options.ts'
import type { Assignment } from '../../failover/protocol/order.ts'
import type { Timings } from '../../failover/protocol/timings.ts'
import type { Transport, World } from '../../src/common/ports.ts'
import type { InstanceName } from '../../topology/member.ts'
import type { PromiseReport } from '../../topology/observation.ts'
import type { CertificatePort } from '../ports/certificate.ts'
import type { AgentConfig } from './config.ts'
import type { Notices } from './notices.ts'
import type { ObserverPort } from '../ports/observer.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { ServerPort } from '../ports/server.ts'
import type { StoredStateFile } from './stored-state.ts'
import type { VolumePort } from '../ports/volume.ts'

/** What the parts of one agent share. Everything that reaches outside is a port. */
export interface Parts {
  /** Random id of this start of the agent. */
  readonly run: string
  /** The incarnation that this start began with. */
  readonly firstIncarnation: string
  readonly config: Pick<
    AgentConfig,
    | 'cluster'
    | 'mode'
    | 'instance'
    | 'host'
    | 'port'
    | 'tls'
    | 'lowSpaceBytes'
    | 'keepBinlogsSeconds'
    | 'heldBinlogsBytes'
    | 'archiveBytes'
  >
  /** Password of this instance's replication account. */
  readonly replicationPassword: string
  readonly timings: Timings
  readonly world: World
  readonly transport: Transport
  readonly file: StoredStateFile
  readonly process: ProcessPort
  readonly server: ServerPort
  readonly volume: VolumePort
  readonly notices: Notices
  /** Null where mysqld's own certificate will do. */
  readonly clientCertificate: CertificatePort | null
  readonly observer: ObserverPort
  /** Something that is reported is different now. */
  readonly changed: () => void
  /** What is true only for this run of the agent. */
  readonly memory: Memory
}

/**
 * What a pass of convergence leaves: whether it did not reach its goal and is to be tried again soon, or when another
 * one has something to do.
 */
export interface Pass {
  readonly again: boolean
  readonly afterMs?: number | undefined
}

/**
 * Which server answers, and in which of its lives: in a container two after each other may have the same pid, and a
 * copy has a uuid of its own. Null while none does.
 */
export function serverLife({ observer, process }: Parts): string | null {
  return observer.server === null || process.state !== 'running' ? null : `${process.pid} ${observer.server.uuid}`
}

/** Not on disk: found out again after a restart. */
export interface Memory {
  /** Of the mysqld that runs or ended last: read by `lifeOf`. */
  life: Life
  promiseReport: PromiseReport | null
  /** Promised, and its receiver goes on: it hears the candidate of the switchover, and nobody else. */
  receiverKept: boolean
  /** What the primary held at the newest assignment: needed to judge a tail and errant transactions. */
  sourceHolds: string | null
  /**
   * The same, said by the primary after it had heard of what this replica forgot last: what it has to catch up to. What
   * was said before may be less than was forgotten.
   */
  catchUpTo: string | null
  /** Sentence and progress of convergence. */
  converged: { revision: number; done: boolean; sentence: string }
  markedRevision: number
  /** Since when (monotonic) the primary of this epoch does not take writes because it opens; null once it does. */
  openingSince: { readonly epoch: number; readonly atMs: number } | null
  /** The set that this primary was elected for, as the newest order named it; null where no order of this run did. */
  elected: string | null
  /** All that it held as a replica when it was last looked at; null while unknown. */
  seenToHold: string | null
  /** What somebody threw away of that: until it is held again, this replica counts for nothing. */
  thrownAway: string
  /** How often that was seen since the agent started. */
  timesForgotten: number
  /** As a primary: the replicas that a manager said are forgetful, by `forgetfulAs`. */
  heardForgetful: Readonly<Record<InstanceName, string>>
  /** What the server lacks of that set; '' for nothing. */
  lacksElected: string
  /** The assignment as primary whose gates and k are in force. */
  applied: Assignment | null
  /**
   * Its server ended while it was primary, or perhaps before this run of the agent: opening it again needs a marker
   * first.
   */
  reopening: boolean
  /**
   * A manager told it what to be since it started, or its volume stayed where it was: nobody put an older one there.
   */
  trustsAssignment: boolean
  /** How its mysqld ended was looked at, so that its death may be shown. */
  endingJudged: boolean
  /**
   * How often it was doubted that replicas hold all that was acknowledged, and writes under way that end a doubt
   * (`unsettled.ts`).
   */
  doubts: number
  settling: number
  /** Monotonic: the silence of a primary's server was looked into up to here (see `ending.ts`). */
  silenceSeenUpToMs: number
  binlogSet: string | null
  /** Its GTIDs were reset while its server ran; on disk as well, but for a moment. */
  gtidsReset: boolean
  /** The manager allowed the primary's server to start again although it ended by itself. */
  mayRestart: boolean
  /** Switching the source's side of semi-sync off, while that goes on. */
  switchingOff: Promise<void> | null
  /** Waiting for strangers' dump threads to be gone, while that goes on. */
  cuttingOff: Promise<void> | null
  /** Address that its channel was pointed to, or found to be: another one is somebody's hand. */
  pointedTo: string | null
  /**
   * Options of its channel that were to be put right, by the thread that is stopped for it: as they were seen, and
   * until when (monotonic) that is not tried again.
   */
  readonly optionsTried: Map<StoppedThread, { readonly what: string; readonly untilMs: number }>
  /** When the receiver was started last, monotonic. */
  receiverStartedAtMs: number
  /**
   * Its pod was told to end, since when (monotonic), and whether its server is being stopped: it is not started any
   * more.
   */
  termination: { readonly sinceMs: number; readonly stopping: boolean } | null
  /** Why the primary keeps itself closed, by who closed it; null for no reason. Only the owner ends a reason. */
  readonly closed: { lease: string | null; space: string | null }
  /** Who stands in the way of the agent's statements, and of what; null for nobody. */
  lockedBy: string | null
  seedingProgress: { stage: string; percent: number; donor: string } | null
  /** The epoch in which a copy is made beside what is here, which stays promised. */
  copiesBeside: number | null
  /** Other passwords are being given to accounts. */
  changesPasswords: boolean
  /** By donor, copies that failed since this agent started or was last seeded; `atMs` is monotonic. */
  readonly seedingFailures: Map<string, { readonly times: number; readonly error: string; readonly atMs: number }>
  /** Monotonic milliseconds of the last order or confirmation of a manager. */
  managerHeardAtMs: number
  /** When each peer was heard, monotonic. */
  readonly peersHeard: Map<string, number>
}

/** Why the primary keeps itself closed; null where nothing does. */
export function whyClosed({ closed }: Pick<Memory, 'closed'>): string | null {
  return closed.lease ?? closed.space
}

export function freshMemory(nowMs: number): Memory {
  return {
    life: freshLife(null),
    promiseReport: null,
    receiverKept: false,
    sourceHolds: null,
    catchUpTo: null,
    converged: { revision: 0, done: false, sentence: 'starting' },
    markedRevision: 0,
    openingSince: null,
    elected: null,
    lacksElected: '',
    seenToHold: null,
    thrownAway: '',
    timesForgotten: 0,
    heardForgetful: {},
    applied: null,
    reopening: false,
    trustsAssignment: false,
    endingJudged: false,
    doubts: 0,
    settling: 0,
    silenceSeenUpToMs: nowMs,
    binlogSet: null,
    gtidsReset: false,
    mayRestart: false,
    switchingOff: null,
    cuttingOff: null,
    pointedTo: null,
    optionsTried: new Map(),
    receiverStartedAtMs: 0,
    termination: null,
    closed: { lease: null, space: null },
    lockedBy: null,
    seedingProgress: null,
    copiesBeside: null,
    changesPasswords: false,
    seedingFailures: new Map(),
    managerHeardAtMs: nowMs,
    peersHeard: new Map(),
  }
}
