import { unionOf } from '#topology/snapshot/holdings.ts'
import type { Fact, FactName } from './facts.ts'
import type { Course, Known } from './known.ts'
import type { Life, Stage } from './life.ts'

/** What is known otherwise from now on. */
export type Change = { readonly [P in keyof Known]?: Partial<Known[P]> } & {
  readonly life?: Partial<Life>
  readonly converged?: Partial<Course['converged']>
}

type Effect<N extends FactName> = (fact: Fact<N>, known: Known, life: Life) => Change

const closed: Stage = { is: 'closed' }

/** What each fact changes of what is known: one row a fact, and no other place. Pure. */
export const effects: { readonly [N in FactName]: Effect<N> } = {
  agentStarted: ({ asPrimary, trustsAssignment }) => ({ course: { reopening: asPrimary }, told: { trustsAssignment } }),
  mysqldDied: ({ asPrimary }) => ({
    course: { reopening: asPrimary },
    // A marker of its earlier life proves nothing of what recovery commits.
    life: { stage: closed, markedRevision: 0, ending: null, tail: null },
    guards: { lacks: [] },
    converged: { done: false, sentence: 'mysqld ended' },
  }),
  mysqldLives: () => ({ doubts: { endingJudged: false } }),
  mysqldAnswered: () => ({ course: { binlogSet: null } }),
  endingJudged: () => ({ doubts: { endingJudged: true } }),
  endingRead: ({ ending, binlogSet }) => ({ course: { binlogSet }, life: { ending, tail: null } }),
  tailJudged: ({ tail }) => ({ life: { tail } }),
  filesChanged: () => ({ course: { binlogSet: null } }),
  stoppedByOthers: () => ({ life: { isStoppedByOthers: true } }),
  silenceSeen: ({ upToMs }) => ({ doubts: { silenceSeenUpToMs: upToMs } }),
  restartBegan: () => ({ told: { mayRestart: true }, life: { isRestarted: true } }),
  leaveToRestartEnded: () => ({ told: { mayRestart: false } }),
  reopens: () => ({ course: { reopening: true } }),

  ordered: ({ order, atMs }, _, life) => ({
    contact: { managerHeardAtMs: atMs },
    // Whatever else it is told may leave its receiver otherwise than it was made ready.
    ...(order === 'assign' ? {} : unmade(life, 'following')),
  }),
  assigned,
  assignmentStored: ({ isNew }) => ({
    told: { trustsAssignment: true },
    ...(isNew ? { converged: { revision: 0, done: false, sentence: 'newly assigned' } } : {}),
  }),
  // A promise given twice is reported twice.
  promised: ({ isNew, keepsReceiver }, { course }) => ({
    course: { ...(isNew || course.receiverKept ? { promiseReport: null } : {}), receiverKept: keepsReceiver },
  }),
  reported: ({ report, ofFiles }) => ({
    course: { promiseReport: report, ...(ofFiles ? { binlogSet: report.holds } : {}) },
  }),
  fetchBegan: (_, __, life) => ({
    course: { promiseReport: null, receiverKept: false },
    ...unmade(life, 'prepared'),
  }),
  renounced: (_, __, life) => ({
    course: { promiseReport: null },
    told: { sourceHolds: null, errant: '', errantJudged: null, catchUpTo: null },
    ...unmade(life, 'leading'),
    converged: {
      revision: 0,
      done: false,
      sentence: 'its volume went back in time: it waits to be seeded again as a new member',
    },
  }),
  leaderHeard: ({ atMs }) => ({ contact: { managerHeardAtMs: atMs } }),
  peerHeard: ({ peer, atMs }, { contact }) => ({
    contact: { peersHeard: new Map(contact.peersHeard).set(peer, atMs) },
  }),
  forgetfulNamed: ({ heardForgetful }) => ({ told: { heardForgetful } }),
  questionHeard: ({ asked, answered }) => ({ told: { compares: { asked, answered } } }),
  errantJudged: ({ of, changesNothing }) => ({ told: { errantJudged: { of, changesNothing } } }),

  converged: ({ fact: _, ...converged }) => ({ converged }),
  made: ({ stage }) => ({ life: { stage } }),
  unmade: ({ stage }, _, life) => unmade(life, stage),
  // How long it takes until writes are taken is counted for each epoch.
  openingBegan: ({ epoch, atMs }) => ({ course: { openingSince: { epoch, atMs } } }),
  openingWaits: () => ({ course: { openingSince: null } }),
  opened: ({ stage }) => ({
    course: { openingSince: null, reopening: false },
    doubts: { seenToHold: null },
    life: { stage },
  }),
  everythingRead: ({ holds }) => ({ course: { binlogSet: holds } }),
  prepared: ({ epoch, holds }) => ({
    course: { binlogSet: holds },
    life: { stage: { is: 'prepared', epoch, executed: holds } },
  }),
  leadsNobody: (_, __, life) => ({
    course: { reopening: false },
    ...unmade(life, 'leading'),
    ...unmade(life, 'prepared'),
  }),
  // What was reported may be less than what is held now, and so may what was made ready to lead.
  openedByHand: () => ({ course: { promiseReport: null }, life: { stage: closed } }),
  pointed: ({ host }) => ({ course: { pointedTo: host } }),
  marked: ({ revision }) => ({ life: { markedRevision: revision } }),

  doubted: (_, { doubts }) => ({ doubts: { raised: doubts.raised + 1 } }),
  markDoubted: ({ revision }, _, life) => ({ life: { markedRevision: Math.min(life.markedRevision, revision - 1) } }),
  settlingBegan: (_, { doubts }) => ({ doubts: { settling: doubts.settling + 1 } }),
  settlingEnded: (_, { doubts }) => ({ doubts: { settling: doubts.settling - 1 } }),
  holdsSeen: ({ holds }) => ({ doubts: { seenToHold: holds } }),
  lossSeen: ({ holds, missing }, { doubts }) => ({
    doubts: {
      seenToHold: holds,
      timesForgotten: doubts.timesForgotten + 1,
      thrownAway: unionOf([doubts.thrownAway, missing]).toString(),
    },
    told: { catchUpTo: null },
    // What is left in its relay logs is as it was received.
    life: { relayLogsDiscarded: true },
  }),
  relayLogsDiscarded: () => ({ doubts: { seenToHold: null }, life: { relayLogsDiscarded: true } }),
  caughtUp: () => ({ doubts: { thrownAway: '' } }),
  gtidsReset: (_, __, life) => ({
    doubts: { gtidsReset: true },
    course: { binlogSet: null },
    // A promotion all the same finds out what the server has.
    ...unmade(life, 'prepared'),
  }),
  electedLacks: ({ gtids }) => ({ doubts: { lacksElected: gtids } }),
  beganHere: ({ proposed }) => ({ life: { proposed } }),

  closedFor: ({ fact: _, ...why }, { guards }) => ({ guards: { closed: { ...guards.closed, ...why } } }),
  blockersSeen: ({ lockedBy }) => ({ guards: { lockedBy } }),
  lacksSeen: ({ lacks }) => ({ guards: { lacks } }),
  optionsTried: ({ stopped, what, untilMs }, { guards }) => ({
    guards: { optionsTried: new Map(guards.optionsTried).set(stopped, { what, untilMs }) },
  }),
  optionsRight: ({ stopped }, { guards }) => ({
    guards: { optionsTried: new Map([...guards.optionsTried].filter(([thread]) => thread !== stopped)) },
  }),

  copyBegan: ({ sourceHolds, besideEpoch }) => ({
    told: { sourceHolds },
    course: { promiseReport: null },
    copying: { besideEpoch },
  }),
  copyWent: ({ fact: _, ...progress }) => ({ copying: { progress } }),
  copyFailed: ({ whose, error, atMs }, { copying }) => {
    const times = (copying.failures.get(whose)?.times ?? 0) + 1
    return { copying: { progress: null, failures: new Map(copying.failures).set(whose, { times, error, atMs }) } }
  },
  copied: () => ({
    copying: { progress: null, failures: new Map() },
    // A promise given meanwhile said that it holds nothing; now it is asked again what it holds.
    course: { binlogSet: null, promiseReport: null },
    doubts: { seenToHold: null, thrownAway: '', gtidsReset: false },
  }),

  errandBegan: ({ errand }) => ({ jobs: { [errand]: true } }),
  errandEnded: ({ errand }) => ({ jobs: { [errand]: false } }),
  waitBegan: ({ wait, until }) => ({ jobs: { [wait]: until } }),
  waitEnded: ({ wait }) => ({ jobs: { [wait]: null } }),

  groupMayBeStarting: ({ is }) => ({ jobs: { mayBeStartingGroup: is } }),
  memberSeen: () => ({ jobs: { groupPause: { times: 0, untilMs: 0 }, mayBeStartingGroup: false } }),
  groupStartEnded: ({ failure }) => ({ jobs: { groupFailure: failure, startingGroup: null } }),
  joinPaused: ({ untilMs }, { jobs }) => ({ jobs: { groupPause: { times: jobs.groupPause.times + 1, untilMs } } }),
  // A wait that is longer already stays.
  joinsNotBefore: ({ untilMs }, { jobs }) => ({ jobs: { joinsNotBeforeMs: Math.max(jobs.joinsNotBeforeMs, untilMs) } }),
  joinsInTurn: ({ joinsInTurn }) => ({ jobs: { joinsInTurn } }),
  removalBegan: ({ address }, { jobs }) => ({ jobs: { expellingSilent: new Set([...jobs.expellingSilent, address]) } }),
  removalEnded: ({ address }, { jobs }) => ({
    jobs: { expellingSilent: new Set([...jobs.expellingSilent].filter((other) => other !== address)) },
  }),

  leaveAsked: ({ untilMs }) => ({ pod: { leavesUntilMs: untilMs } }),
  stayAsked: () => ({ pod: { leavesUntilMs: -Infinity, hasLeft: false } }),
  endBegan: ({ sinceMs }) => ({ pod: { termination: { sinceMs, stopping: false } } }),
  endTakenBack: () => ({ pod: { termination: null } }),
  serverStops: (_, { pod }) => ({ pod: { termination: { sinceMs: pod.termination?.sinceMs ?? 0, stopping: true } } }),
  left: ({ forGood }) => ({ pod: { hasLeft: forGood } }),
}

/** Something else was, or is to be, done to this mysqld: what it was made says nothing any more. */
function unmade({ stage }: Life, is: Stage['is']): Pick<Change, 'life'> {
  return stage.is === is ? { life: { stage: closed } } : {}
}

/** Another role ends what belongs to the one before. */
function assigned(fact: Fact<'assigned'>, known: Known, life: Life): Change {
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

function toldToLead({ to, before, hadGtidsReset }: Fact<'assigned'>, { doubts }: Known, life: Life): Change {
  return {
    // A server that its own agent killed to start it again needs nobody's word.
    told: { errant: '', mayRestart: (to.role === 'primary' && to.mayRestart) || life.isRestarted },
    // Who is promoted says what is what from now on; of a primary that goes on nobody can tell.
    doubts: { gtidsReset: before?.role === 'primary' && (doubts.gtidsReset || hadGtidsReset) },
  }
}

/**
 * Unknown ('') is not "nothing": a tail compared with nothing would be cut as a whole. Within an epoch what was known
 * before still holds.
 */
function toldToFollow({ to, catchesUp }: Fact<'assigned'>, { told }: Known, isNewEpoch: boolean): Change {
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
