import type { Assignment } from '#failover/protocol/assignment.ts'
import type { StoppedThread } from '#failover/protocol/channel-options.ts'
import type { OrderName } from '#failover/protocol/order.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { GtidText, PromiseReport } from '#topology/snapshot/observation.ts'
import type { Ending, TailJudgement } from '../ports/volume.ts'
import type { Copying, Course, Guards, Jobs, Known, Question } from './known.ts'
import type { Life, Stage } from './life.ts'

type Nothing = object

/** Work in the background: what takes a flag, and what others may wait for. */
export type Errand = 'changesPasswords' | 'empties' | 'streamsCopy'
export type Awaited = 'cuttingOff' | 'expelling' | 'startingGroup' | 'switchingOff'

/**
 * Everything that an agent may get to know, by name, with what was found out. What is known then stands in
 * `effects.ts`, one row a fact. Times are monotonic milliseconds.
 */
export interface Facts {
  // The agent, and the life of its mysqld.
  agentStarted: { readonly asPrimary: boolean; readonly trustsAssignment: boolean }
  mysqldDied: { readonly asPrimary: boolean }
  /** In any state but dead. */
  mysqldLives: Nothing
  /** The server says itself what it holds. */
  mysqldAnswered: Nothing
  /** Its death may be shown. */
  endingJudged: Nothing
  /** Of a mysqld that is down. */
  endingRead: { readonly ending: Ending; readonly binlogSet: GtidText }
  tailJudged: { readonly tail: TailJudgement }
  /** What its files say is to be read again: the tail was cut or kept, or a copy was taken back. */
  filesChanged: Nothing
  stoppedByOthers: Nothing
  silenceSeen: { readonly upToMs: number }
  /** Its agent kills it to start it again at once. */
  restartBegan: Nothing
  /** Leave to start again was for a server that did not answer. */
  leaveToRestartEnded: Nothing
  /** A marker must prove first what its recovery commits. */
  reopens: Nothing

  // What managers and peers say.
  /** An order passed its checks. */
  ordered: { readonly order: OrderName; readonly atMs: number }
  /** @see effects.ts; `catchesUp`: a replica was told what it has to catch up to, for what it forgot last. */
  assigned: {
    readonly to: Assignment
    readonly before: Assignment | null
    readonly catchesUp: boolean
    readonly hadGtidsReset: boolean
  }
  /** The assignment is on disk. */
  assignmentStored: { readonly isNew: boolean }
  promised: { readonly isNew: boolean; readonly keepsReceiver: boolean }
  /** What is held under a promise. `ofFiles`: as the files of a dead server say. */
  reported: { readonly report: PromiseReport; readonly ofFiles?: boolean }
  fetchBegan: Nothing
  /** The volume went back in time: a new member begins. */
  renounced: Nothing
  leaderHeard: { readonly atMs: number }
  peerHeard: { readonly peer: InstanceName; readonly atMs: number }
  forgetfulNamed: Pick<Known['told'], 'heardForgetful'>
  questionHeard: { readonly asked: Question; readonly answered: Question | null }
  errantJudged: NonNullable<Known['told']['errantJudged']>

  // Where convergence is.
  converged: Partial<Course['converged']>
  /** What this mysqld was made by its agent, or is not any more. */
  made: { readonly stage: Stage }
  /** What was made is not so any more, where it was this. */
  unmade: { readonly stage: Stage['is'] }
  openingBegan: NonNullable<Course['openingSince']>
  /** The server waits for replicas: another one would wait for them too. */
  openingWaits: Nothing
  opened: { readonly stage: Stage }
  /** It holds at least this: all was read once nothing more arrived. */
  everythingRead: { readonly holds: GtidText }
  prepared: { readonly epoch: number; readonly holds: GtidText }
  /** It follows, or is to, whatever it was before. */
  leadsNobody: Nothing
  /** While it promised to stay closed. */
  openedByHand: Nothing
  pointed: { readonly host: string }
  marked: { readonly revision: number }

  // Doubts.
  doubted: Nothing
  /** A marker of this revision proves nothing. */
  markDoubted: { readonly revision: number }
  /** A write that ends a doubt begins, and ends. */
  settlingBegan: Nothing
  settlingEnded: Nothing
  holdsSeen: { readonly holds: GtidText }
  lossSeen: { readonly holds: GtidText; readonly missing: GtidText }
  relayLogsDiscarded: Nothing
  caughtUp: Nothing
  gtidsReset: Nothing
  electedLacks: { readonly gtids: GtidText }
  beganHere: { readonly proposed: Life['proposed'] }

  // What keeps watch beside.
  closedFor: Partial<Guards['closed']>
  blockersSeen: Pick<Guards, 'lockedBy'>
  lacksSeen: Pick<Guards, 'lacks'>
  optionsTried: { readonly stopped: StoppedThread; readonly what: string; readonly untilMs: number }
  optionsRight: { readonly stopped: StoppedThread }

  // A copy of another instance.
  copyBegan: { readonly sourceHolds: GtidText; readonly besideEpoch: number | null }
  copyWent: NonNullable<Copying['progress']>
  copyFailed: { readonly whose: string; readonly error: string; readonly atMs: number }
  copied: Nothing

  // Work in the background.
  errandBegan: { readonly errand: Errand }
  errandEnded: { readonly errand: Errand }
  waitBegan: { readonly wait: Awaited; readonly until: Promise<void> }
  waitEnded: { readonly wait: Awaited }

  // Of a member of a group.
  groupMayBeStarting: { readonly is: boolean }
  /** It is a member. */
  memberSeen: Nothing
  groupStartEnded: { readonly failure: string }
  joinPaused: { readonly untilMs: number }
  joinsNotBefore: { readonly untilMs: number }
  joinsInTurn: Pick<Jobs, 'joinsInTurn'>
  removalBegan: { readonly address: string }
  removalEnded: { readonly address: string }

  // The end of its pod, or of its part in the cluster.
  leaveAsked: { readonly untilMs: number }
  stayAsked: Nothing
  endBegan: { readonly sinceMs: number }
  endTakenBack: Nothing
  serverStops: Nothing
  left: { readonly forGood: boolean }
}

export type FactName = keyof Facts
export type Fact<N extends FactName = FactName> = { [M in N]: { readonly fact: M } & Facts[M] }[N]
