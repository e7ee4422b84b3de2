import { say } from '#common/sentence/sentence.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { StoppedThread } from '#failover/protocol/channel-options.ts'
import type { OrderName } from '#failover/protocol/order.ts'
import type { BackupWork } from '#topology/snapshot/copies.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { PromiseReport } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { Ending, TailJudgement } from '../ports/volume.ts'
import type { Copying, Course, Doubts, Guards, Jobs, Known, Pod, Told } from './known.ts'
import type { Life, Stage } from './life.ts'

/** What is known otherwise from now on. */
export type Change = { readonly [P in keyof Known]?: Partial<Known[P]> } & {
  readonly life?: Partial<Life>
  readonly converged?: Partial<Course['converged']>
}

/** Nothing was found out but the fact itself. */
type Bare = object
type Times = { readonly atMs: number }
/** Work in the background: what takes a flag, and what others may wait for. */
export type Errand = 'changesPasswords' | 'empties' | 'streamsCopy' | 'writesMarker'
export type Awaited = 'cuttingOff' | 'expelling' | 'startingGroup' | 'switchingOff'

/** @property isRefused trying again soon would come to the same */
type CopyFailure = {
  readonly whose: string
  readonly error: string
  readonly atMs: number
  readonly isRefused?: boolean
}

const closed: Stage = { is: 'closed' }

/**
 * Everything that an agent may get to know: the name of each fact, what was found out, and what it changes of what is
 * known. There is no other place that changes it. Pure. Times are monotonic milliseconds.
 */
export const facts = {
  // The agent, and the life of its mysqld.
  agentStarted: ({ asPrimary, trustsAssignment }: { asPrimary: boolean; trustsAssignment: boolean }): Change => ({
    course: { reopening: asPrimary },
    told: { trustsAssignment },
  }),
  mysqldDied: ({ asPrimary }: { asPrimary: boolean }, { course }: Known): Change => ({
    // A receiver that was kept brought more than was reported, while nobody looked perhaps.
    course: { reopening: asPrimary, ...(course.receiverKept ? { promiseReport: null } : {}) },
    // A marker of its earlier life proves nothing of what recovery commits.
    life: { stage: closed, markedRevision: 0 },
    guards: { lacks: [] },
    converged: { done: false, sentence: say`mysqld ended` },
  }),
  /** In any state but dead. */
  mysqldLives: (): Change => ({ doubts: { endingJudged: false } }),
  /** Its death may be shown. */
  endingJudged: (): Change => ({ doubts: { endingJudged: true } }),
  /** The server says itself what it holds. */
  mysqldAnswered: (): Change => ({ course: { binlogSet: null } }),
  /** What its files say is to be read again: the tail was cut or kept, or a copy was taken back. */
  filesChanged: (): Change => ({ course: { binlogSet: null } }),
  /** The end of a mysqld that is down was read. */
  endingRead: ({ ending, binlogSet }: { ending: Ending; binlogSet: GtidText }): Change => ({
    course: { binlogSet },
    life: { ending, tail: null },
  }),
  tailJudged: ({ tail }: { tail: TailJudgement }): Change => ({ life: { tail } }),
  stoppedByOthers: (): Change => ({ life: { isStoppedByOthers: true } }),
  silenceSeen: (seen: Pick<Doubts, 'silenceSeenUpToMs'>): Change => ({ doubts: seen }),
  /** Its agent kills it to start it again at once. */
  restartBegan: (): Change => ({ told: { mayRestart: true }, life: { isRestarted: true } }),
  /** The leave to restart was for a server that did not answer. */
  leaveToRestartEnded: (): Change => ({ told: { mayRestart: false } }),
  /** A marker must prove first what its recovery commits. */
  reopens: (): Change => ({ course: { reopening: true } }),

  // What managers and peers say.
  /** An order passed its checks. Any but an assignment may leave the receiver otherwise than it was made ready. */
  ordered: ({ order, atMs }: { order: OrderName; atMs: number }, _: Known, life: Life): Change => ({
    contact: { managerHeardAtMs: atMs },
    ...(order === 'assign' ? {} : unmade(life, 'following')),
  }),
  assigned,
  /** The assignment is on disk. */
  assignmentStored: ({ isNew }: { isNew: boolean }): Change => ({
    told: { trustsAssignment: true },
    ...(isNew ? { converged: { revision: 0, done: false, sentence: say`newly assigned` } } : {}),
  }),
  /** A promise given twice is reported twice. */
  promised: ({ isNew, receiverKept }: { isNew: boolean; receiverKept: boolean }, { course }: Known): Change => ({
    course: { receiverKept, ...(isNew || course.receiverKept ? { promiseReport: null } : {}) },
  }),
  /** What is held under a promise. `ofFiles`: as the files of a dead server say. */
  reported: ({ report, ofFiles }: { report: PromiseReport; ofFiles?: boolean }): Change => ({
    course: { promiseReport: report, ...(ofFiles ? { binlogSet: report.holds } : {}) },
  }),
  fetchBegan: (_: Bare, __: Known, life: Life): Change => ({
    course: { promiseReport: null, receiverKept: false },
    ...unmade(life, 'prepared'),
  }),
  /** The volume went back in time: a new member begins. */
  renounced: (_: Bare, __: Known, life: Life): Change => ({
    course: { promiseReport: null },
    told: { sourceHolds: null, errant: '', errantJudged: null, catchUpTo: null },
    doubts: { unkept: 0 },
    ...unmade(life, 'leading'),
    converged: {
      revision: 0,
      done: false,
      sentence: say`its volume went back in time: it waits to be seeded again as a new member`,
    },
  }),
  leaderHeard: ({ atMs }: Times): Change => ({ contact: { managerHeardAtMs: atMs } }),
  peerHeard: ({ peer, atMs }: { peer: InstanceName; atMs: number }, { contact }: Known): Change => ({
    contact: { peersHeard: new Map(contact.peersHeard).set(peer, atMs) },
  }),
  forgetfulNamed: (named: Pick<Told, 'heardForgetful'>): Change => ({ told: named }),
  questionHeard: (compares: Told['compares']): Change => ({ told: { compares } }),
  errantJudged: (errantJudged: NonNullable<Told['errantJudged']>): Change => ({ told: { errantJudged } }),

  // Where convergence is.
  converged: (converged: Partial<Course['converged']>): Change => ({ converged }),
  /** What this mysqld was made by its agent. */
  made: (made: { stage: Stage }): Change => ({ life: made }),
  /** Where it was this, it is not any more. */
  unmade: ({ stage }: { stage: Stage['is'] }, _: Known, life: Life) => unmade(life, stage),
  /** How long it takes until writes are taken is counted for each epoch. */
  openingBegan: (openingSince: NonNullable<Course['openingSince']>): Change => ({ course: { openingSince } }),
  /** By its group, which has not opened the server yet. */
  elected: (electedSince: NonNullable<Course['electedSince']>): Change => ({ course: { electedSince } }),
  /** The server waits for replicas: another one would wait for them too. */
  openingWaits: (): Change => ({ course: { openingSince: null } }),
  opened: (made: { stage: Stage }): Change => ({
    course: { openingSince: null, reopening: false },
    doubts: { seenToHold: null },
    life: made,
  }),
  /** All that it holds was read once nothing more arrived. */
  everythingRead: ({ holds }: { holds: GtidText }): Change => ({ course: { binlogSet: holds } }),
  prepared: ({ epoch, holds }: { epoch: number; holds: GtidText }): Change => ({
    course: { binlogSet: holds },
    life: { stage: { is: 'prepared', epoch, executed: holds } },
  }),
  /** The instance follows, or is to, whatever it was before. */
  leadsNobody: (_: Bare, __: Known, life: Life): Change => ({
    course: { reopening: false },
    ...unmade(life, 'leading'),
    ...unmade(life, 'prepared'),
  }),
  /** The agent opened the server for accounts that may change accounts; nobody else opened it. */
  openedByAgent: (): Change => ({ life: { openedByAgent: true } }),
  closedByAgent: (): Change => ({ life: { openedByAgent: false } }),
  /** Under a promise: what was reported may be less than what is held now, and so may what was made ready to lead. */
  openedByHand: (): Change => ({ course: { promiseReport: null }, life: { stage: closed } }),
  pointed: ({ host }: { host: string }): Change => ({ course: { pointedTo: host } }),
  marked: ({ revision }: { revision: number }): Change => ({ life: { markedRevision: revision } }),

  // Doubts.
  /** `isOrdered`: whoever ordered what is doubted knows. */
  doubted: ({ isOrdered }: { isOrdered: boolean }, { doubts }: Known): Change => ({
    doubts: { raised: doubts.raised + 1, ...(isOrdered ? {} : { unkept: doubts.raised + 1 }) },
  }),
  /** So many doubts are on disk, or proven to be none. */
  doubtsKept: ({ raised }: Pick<Doubts, 'raised'>, { doubts }: Known): Change =>
    doubts.unkept > raised ? {} : { doubts: { unkept: 0 } },
  /** A marker of this revision proves nothing. */
  markDoubted: ({ revision }: { revision: number }, _: Known, life: Life): Change => ({
    life: { markedRevision: Math.min(life.markedRevision, revision - 1) },
  }),
  /** A write that ends a doubt. */
  settlingBegan: (_: Bare, { doubts }: Known): Change => ({ doubts: { settling: doubts.settling + 1 } }),
  settlingEnded: (_: Bare, { doubts }: Known): Change => ({ doubts: { settling: doubts.settling - 1 } }),
  holdsSeen: ({ holds }: { holds: GtidText }): Change => ({ doubts: { seenToHold: holds } }),
  /** What is left in its relay logs is as it was received. */
  lossSeen: ({ holds, missing }: { holds: GtidText; missing: GtidText }, { doubts }: Known): Change => ({
    doubts: {
      seenToHold: holds,
      timesForgotten: doubts.timesForgotten + 1,
      thrownAway: unionOf([doubts.thrownAway, missing]).toString(),
    },
    told: { catchUpTo: null },
    life: { relayLogsDiscarded: true },
  }),
  relayLogsDiscarded: (): Change => ({ doubts: { seenToHold: null }, life: { relayLogsDiscarded: true } }),
  caughtUp: (): Change => ({ doubts: { thrownAway: '' } }),
  /** A promotion all the same finds out what the server has. */
  gtidsReset: (_: Bare, __: Known, life: Life): Change => ({
    doubts: { gtidsReset: true },
    course: { binlogSet: null },
    ...unmade(life, 'prepared'),
  }),
  electedLacks: (lacks: Pick<Doubts, 'lacksElected'>): Change => ({ doubts: lacks }),
  beganHere: (began: Pick<Life, 'proposed'>): Change => ({ life: began }),

  // What keeps watch beside.
  closedFor: (why: Partial<Guards['closed']>, { guards }: Known): Change => ({
    guards: { closed: { ...guards.closed, ...why } },
  }),
  blockersSeen: (seen: Pick<Guards, 'lockedBy'>): Change => ({ guards: seen }),
  lacksSeen: (seen: Pick<Guards, 'lacks'>): Change => ({ guards: seen }),
  optionsTried: (
    { stopped, ...tried }: { stopped: StoppedThread; what: string; untilMs: number },
    known: Known,
  ): Change => ({
    guards: { optionsTried: new Map(known.guards.optionsTried).set(stopped, tried) },
  }),
  optionsRight: ({ stopped }: { stopped: StoppedThread }, { guards }: Known): Change => ({
    guards: { optionsTried: new Map([...guards.optionsTried].filter(([thread]) => thread !== stopped)) },
  }),

  // A copy of another instance.
  copyBegan: ({ sourceHolds, besideEpoch }: Pick<Told, 'sourceHolds'> & Pick<Copying, 'besideEpoch'>): Change => ({
    told: { sourceHolds },
    course: { promiseReport: null },
    copying: { besideEpoch },
  }),
  copyWent: (progress: NonNullable<Copying['progress']>): Change => ({ copying: { progress } }),
  copyFailed: ({ whose, ...failed }: CopyFailure, { copying }: Known): Change => {
    const times = (copying.failures.get(whose)?.times ?? 0) + 1
    return { copying: { progress: null, failures: new Map(copying.failures).set(whose, { times, ...failed }) } }
  },
  /** A promise given meanwhile said that it holds nothing; now it is asked again what it holds. */
  copied: (): Change => ({
    copying: { progress: null, failures: new Map() },
    course: { binlogSet: null, promiseReport: null },
    doubts: { seenToHold: null, thrownAway: '', gtidsReset: false, unkept: 0 },
  }),

  // Work in the background.
  errandBegan: ({ errand }: { errand: Errand }): Change => ({ jobs: { [errand]: true } }),
  errandEnded: ({ errand }: { errand: Errand }): Change => ({ jobs: { [errand]: false } }),
  binlogsShipped: ({ archive }: { archive: NonNullable<Jobs['binlogArchive']> }): Change => ({
    jobs: { binlogArchive: archive },
  }),
  holeWent: ({ closing }: { closing: NonNullable<Jobs['closesHole']> }): Change => ({ jobs: { closesHole: closing } }),
  backupWent: ({ backup }: { backup: NonNullable<Jobs['backup']> }): Change => ({ jobs: { backup } }),
  backupsTold: ({ task }: { task: Told['backups'] }): Change => ({ told: { backups: task }, jobs: { backups: null } }),
  backupsSeen: ({ seen }: { seen: NonNullable<Jobs['backups']> }): Change => ({ jobs: { backups: seen } }),
  rehearsalWent: ({ rehearsal }: { rehearsal: NonNullable<Jobs['rehearsal']> }): Change => ({ jobs: { rehearsal } }),
  backupWorkFailed: ({ work }: { work: BackupWork }, { jobs: { backupFailures } }: Known): Change => ({
    jobs: { backupFailures: { ...backupFailures, [work]: backupFailures[work] + 1 } },
  }),
  heartbeatWritten: ({ atMs }: { atMs: number }): Change => ({ jobs: { heartbeatAtMs: atMs } }),
  waitBegan: ({ wait, until }: { wait: Awaited; until: Promise<void> }): Change => ({ jobs: { [wait]: until } }),
  waitEnded: ({ wait }: { wait: Awaited }): Change => ({ jobs: { [wait]: null } }),
  wakerBegan: ({ connections }: { connections: string }, { jobs }: Known): Change => ({
    jobs: { wakers: { count: jobs.wakers.count + 1, connections } },
  }),
  wakerEnded: (_: Bare, { jobs }: Known): Change => ({
    jobs: { wakers: { ...jobs.wakers, count: jobs.wakers.count - 1 } },
  }),

  // Facts of a member of a group.
  groupMayBeStarting: (is: Pick<Jobs, 'mayBeStartingGroup'>): Change => ({ jobs: is }),
  memberSeen: (): Change => ({ jobs: { groupPause: { times: 0, untilMs: 0 }, mayBeStartingGroup: false } }),
  groupStartEnded: ({ failure }: { failure: string }): Change => ({
    jobs: { groupFailure: failure, startingGroup: null },
  }),
  joinPaused: ({ untilMs }: { untilMs: number }, { jobs }: Known): Change => ({
    jobs: { groupPause: { times: jobs.groupPause.times + 1, untilMs } },
  }),
  /** A wait that is longer already stays. */
  joinsNotBefore: ({ untilMs }: { untilMs: number }, { jobs }: Known): Change => ({
    jobs: { joinsNotBeforeMs: Math.max(jobs.joinsNotBeforeMs, untilMs) },
  }),
  joinsInTurn: (joins: Pick<Jobs, 'joinsInTurn'>): Change => ({ jobs: joins }),
  removalBegan: ({ address }: { address: string }, { jobs }: Known): Change => ({
    jobs: { expellingSilent: new Set([...jobs.expellingSilent, address]) },
  }),
  removalEnded: ({ address }: { address: string }, { jobs }: Known): Change => ({
    jobs: { expellingSilent: new Set([...jobs.expellingSilent].filter((other) => other !== address)) },
  }),

  // The end of its pod, or of its part in the cluster.
  leaveAsked: (asked: Pick<Pod, 'leavesUntilMs'>): Change => ({ pod: asked }),
  stayAsked: (): Change => ({ pod: { leavesUntilMs: -Infinity, hasLeft: false } }),
  endBegan: ({ sinceMs }: { sinceMs: number }): Change => ({ pod: { termination: { sinceMs, stopping: false } } }),
  endTakenBack: (): Change => ({ pod: { termination: null } }),
  serverStops: (_: Bare, { pod }: Known): Change => ({
    pod: { termination: { sinceMs: pod.termination?.sinceMs ?? 0, stopping: true } },
  }),
  left: (left: Pick<Pod, 'hasLeft'>): Change => ({ pod: left }),
  restartAsked: (asked: Pick<Pod, 'restartsUntilMs'>): Change => ({ pod: asked }),
  restartOver: (): Change => ({ pod: { restartsUntilMs: null } }),
} satisfies Readonly<Record<string, (found: never, known: Known, life: Life) => Change>>

export type FactName = keyof typeof facts
type Found<N extends FactName> = Parameters<(typeof facts)[N]> extends [infer T, ...unknown[]] ? Readonly<T> : Bare
export type Fact<N extends FactName = FactName> = { [M in N]: { readonly fact: M } & Found<M> }[N]

/** Something else was, or is to be, done to this mysqld: what it was made says nothing any more. */
function unmade({ stage }: Life, is: Stage['is']): Pick<Change, 'life'> {
  return stage.is === is ? { life: { stage: closed } } : {}
}

/** `catchesUp`: a replica is told what it has to catch up to, for what it forgot last. */
interface Assigned {
  readonly to: Assignment
  readonly before: Assignment | null
  readonly catchesUp: boolean
  readonly hadGtidsReset: boolean
}

/** Another role ends what belongs to the one before. */
function assigned(fact: Assigned, known: Known, life: Life): Change {
  const { to, before } = fact
  const isNewEpoch = before?.epoch !== to.epoch
  const isPrimary = to.role === 'primary'
  const { told, doubts } = isPrimary ? toldToLead(fact, known, life) : toldToFollow(fact, known, isNewEpoch)
  return {
    course: { promiseReport: null, receiverKept: false },
    told: { ...told, elected: isPrimary ? (to.elected ?? null) : null },
    // What was lacking of another epoch's set says nothing any more.
    doubts: { ...doubts, ...(isNewEpoch || !isPrimary ? { lacksElected: '' } : {}) },
  }
}

function toldToLead({ to, before, hadGtidsReset }: Assigned, { doubts }: Known, life: Life): Change {
  return {
    // A server that its own agent killed to start it again needs nobody's word.
    told: { errant: '', mayRestart: (to.role === 'primary' && to.mayRestart) || life.isRestarted },
    // A server that is promoted says from now on what its GTIDs mean; of a primary that goes on nobody can tell.
    doubts: { gtidsReset: before?.role === 'primary' && (doubts.gtidsReset || hadGtidsReset) },
  }
}

/**
 * Unknown ('') is not "nothing": a tail compared with nothing would be cut as a whole. Within an epoch what was known
 * before still holds.
 */
function toldToFollow({ to, catchesUp }: Assigned, { told }: Known, isNewEpoch: boolean): Change {
  if (to.role !== 'replica') return {}
  const { sourceHolds: said, errant = '' } = to
  const isUnsaid = said === '' && !isNewEpoch
  const sourceHolds = isUnsaid ? told.sourceHolds : said === '' ? null : said
  return {
    told: {
      errant,
      sourceHolds,
      // What another primary acknowledged the new one has, and more of it may be nowhere any more.
      ...(isNewEpoch ? { catchUpTo: null } : {}),
      ...(catchesUp && !isUnsaid ? { catchUpTo: sourceHolds } : {}),
    },
    ...(isNewEpoch ? { doubts: { thrownAway: '' } } : {}),
  }
}
