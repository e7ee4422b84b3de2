import type { ReplicaAssignment } from '../../failover/protocol/order.ts'
import { GtidSet, parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import type { Channel, ServerState } from '../../topology/snapshot/observation.ts'
import { unionOf } from '../../topology/snapshot/holdings.ts'
import { nobodysAddress } from '../../topology/snapshot/replication-tree.ts'
import { noticesLoss } from '../doubts/thrown-away.ts'
import { hasDueOptions, putApplierOptionsRight, putStoppedOptionsRight } from '../guard/channel-options.ts'
import { keepSettings } from '../guard/managed-settings.ts'
import type { Following } from '../instance/life.ts'
import { notice, outdate, rest, step, type NextPass, type Step, type View } from '../instance/pass.ts'
import {
  clearFilters,
  closeForWrites,
  forgetSource,
  openGates,
  pointTo,
  pointWithOptions,
  setOffline,
  startApplier,
  startReceiver,
  stopReceiver,
  switchAcknowledgementsOff,
  willAcknowledge,
} from './replica-steps.ts'

/** A connection attempt gets this long before it is begun anew. */
const connectMs = 150
/**
 * The source refuses the receiver as it is: somebody changed its password here or there, and nothing shows which. In
 * order: no right to the schema, wrong login, no privilege, no password, blocked, locked.
 */
const accessDenied: ReadonlySet<number> = new Set([1044, 1045, 1227, 1698, 3955, 3118])

/** For so long after it was let in, and so often, a replica that does not count yet is looked at. */
const catchUpMs = 1_000
const catchUpLookMs = 40

/** So long nobody looks again at what was made ready. */
const pointedMs = 1_000

/** The next pass towards following as assigned. Pure. `state` is what the server said. */
export function nextAsReplica(view: View, assigned: ReplicaAssignment, state: ServerState): NextPass {
  const assignment = asSeenNow(view, assigned)
  const holds = unionOf([state.executed, state.received])
  const loss = noticesLoss(view, holds)
  if (loss !== null) return loss
  const pass = standsBy(view, assignment, state) ?? mends(view, state) ?? follows(view, assignment, state)
  return withDuties(view, assignment, state, {
    ...pass,
    now: { ...pass.now, doubts: { seenToHold: holds.toString() } },
  })
}

/**
 * A volume that went back in time still has the assignment it had then, and would acknowledge to a primary it has since
 * promised to leave. So where an agent cannot tell that its volume stayed where it was, it counts only once a manager,
 * who looks at incarnations, has told this run of it.
 */
function asSeenNow({ told }: View, assignment: ReplicaAssignment): ReplicaAssignment {
  return { ...assignment, counted: assignment.counted && told.trustsAssignment }
}

/** What each pass of a replica does first: it leads nobody, and is closed for writes, whoever opened it. */
function withDuties(
  { life, course }: View,
  { revision }: ReplicaAssignment,
  state: ServerState,
  pass: NextPass,
): NextPass {
  const led = life.stage.is === 'leading' || life.stage.is === 'prepared'
  const isOpen = !state.superReadOnly || !state.readOnly
  const wasDone = course.converged.done && course.converged.revision === revision
  const byHand = notice('ClosedAgain', 'read-only was switched off by another hand and is on again')
  return {
    ...pass,
    now: {
      ...pass.now,
      course: { ...pass.now?.course, reopening: false },
      ...(led ? { life: { stage: { is: 'closed' } } } : {}),
    },
    steps: [
      ...(isOpen ? [closeForWrites] : []),
      ...(isOpen && wasDone ? [byHand] : []),
      ...(state.changedSettings?.length ? [putSettingsRight(state)] : []),
      ...(pass.steps ?? []),
    ],
  }
}

function putSettingsRight(state: ServerState): Step {
  return step('put settings right', (parts) => keepSettings(parts, state))
}

/** Why it follows nobody; null where it is to follow. */
function standsBy(view: View, { revision, sourceUuid }: ReplicaAssignment, state: ServerState): NextPass | null {
  const why = whyItStandsBy(view, sourceUuid, state)
  if (why === null) return null
  const isReceiving = state.channel !== null && state.channel.ioRunning !== 'no'
  return {
    steps: [...(isReceiving ? [stopReceiver] : []), ...(state.offlineMode ? [] : [setOffline(true)])],
    then: { converged: { revision, done: false, sentence: why } },
    next: 'when something changes',
  }
}

function whyItStandsBy({ told, doubts, stored }: View, sourceUuid: string, state: ServerState): string | null {
  const errant = errantAgainst(told.sourceHolds, state, sourceUuid)
  if (!errant.isEmpty()) return `has ${errant.count()} errant transactions and waits to be archived and seeded again`
  return doubts.gtidsReset || stored.gtidsReset
    ? 'has had its GTIDs reset by another hand and waits to be seeded again'
    : null
}

/** What it has that its source never had. The source's own newer transactions are none. */
function errantAgainst(sourceHolds: string | null, state: ServerState, sourceUuid: string): GtidSet {
  if (sourceHolds === null || sourceHolds === '' || sourceUuid === '') return GtidSet.empty
  const own = unionOf([state.executed, state.received])
  return own.subtract(parseGtidSet(sourceHolds)).withoutSource(sourceUuid)
}

/** What must not be followed with: a filter that somebody set, or relay logs that a crash may have spoilt. */
function mends({ stored, life }: View, { channel }: ServerState): NextPass | null {
  if (channel?.filtered)
    return {
      store: { filterSeen: true },
      steps: [
        clearFilters,
        notice(
          'ReplicationFilter',
          'a replication filter was set by hand and removed; what it left out is unknown, so this instance will be seeded again',
        ),
        outdate,
      ],
      next: 'after a look',
    }
  if (!stored.forgetful || life.relayLogsDiscarded) return null
  // Its page cache was lost: what it received may have holes. It starts again from what it executed.
  return {
    steps: [
      ...(channel ? [forgetSource] : []),
      notice('ForgetfulReplica', 'received and unapplied transactions were thrown away and are fetched again'),
      outdate,
    ],
    then: { doubts: { seenToHold: null }, life: { relayLogsDiscarded: true } },
    next: 'after a look',
  }
}

function follows(view: View, assignment: ReplicaAssignment, state: ServerState): NextPass {
  const { channel } = state
  if (isPointed(view, assignment) && channel?.ioRunning !== 'yes')
    return assignment.sourceReady === false ? rest : connects(view, assignment)
  const isAsAssigned = followsAsAssigned(channel, assignment, view.course.converged.revision)
  return !isAsAssigned || hasDueOptions(view, channel, 'receiver')
    ? begins(view, assignment, state)
    : goesOn(view, assignment, { ...state, channel })
}

/**
 * A receiver that is still connecting shows nothing of how it will acknowledge: it is trusted only if it was started
 * for this very revision. Else one that was started to be counted, and kept out by its gate, would acknowledge as soon
 * as it is let in to catch up.
 */
function followsAsAssigned(
  channel: Channel | null,
  { source, counted, revision }: ReplicaAssignment,
  appliedRevision: number,
): channel is Channel {
  if (
    channel === null ||
    channel.sourceHost !== source.host ||
    channel.sourcePort !== source.port ||
    channel.ioRunning === 'no'
  )
    return false
  return channel.ioRunning === 'yes' ? channel.semiSync === counted : appliedRevision === revision
}

/** Points to the source and starts both threads; semi-sync takes effect at the receiver's start. */
function begins(view: View, assignment: ReplicaAssignment, state: ServerState): NextPass {
  const { source, counted, revision } = assignment
  const { channel } = state
  const isReady = assignment.sourceReady !== false
  const switchesOff = state.semiSyncSource.enabled
  const isReceiving = channel !== null && channel.ioRunning !== 'no'
  const isPrepared = !isReady && !switchesOff
  const sentence = isReady
    ? `connecting to ${source.instance}`
    : `connects to ${source.instance} at its manager's word: once that has set its gates, or this one has its copy`
  return {
    ...(view.stored.stoppedInOrder ? { store: { stoppedInOrder: false } } : {}),
    now: { life: { stage: { is: 'closed' } } },
    steps: [
      ...strayed(view, assignment, channel),
      ...(isReceiving ? [stopReceiver] : []),
      willAcknowledge(counted),
      hasDueOptions(view, channel, 'receiver') ? pointWithOptions(source, channel) : pointTo(source, channel),
      ...(isReady ? [startReceiver] : []),
      ...(switchesOff ? [switchAcknowledgementsOff] : [...openGates(view, state), startApplier]),
      outdate,
    ],
    then: {
      course: { pointedTo: source.host },
      ...(isReady ? { life: { stage: startedNow(view, assignment) } } : {}),
      ...(isPrepared ? { life: { stage: { ...startedNow(view, assignment), step: 'pointed' } } } : {}),
      converged: { revision, done: false, sentence },
    },
    next: isReady ? 'soon' : 'when something changes',
  }
}

function strayed({ course }: View, { source }: ReplicaAssignment, channel: Channel | null): readonly Step[] {
  if (channel === null || course.pointedTo !== source.host) return []
  if ([source.host, nobodysAddress.host].includes(channel.sourceHost)) return []
  return [notice('WrongSource', `it followed ${channel.sourceHost} and follows ${source.instance} again`)]
}

/** Everything is prepared, and its source is ready now. */
function connects(view: View, assignment: ReplicaAssignment): NextPass {
  const { revision, source } = assignment
  return {
    now: { life: { stage: { is: 'closed' } } },
    steps: [startReceiver, outdate],
    then: {
      life: { stage: startedNow(view, assignment) },
      converged: { revision, done: false, sentence: `connecting to ${source.instance}` },
    },
    next: 'soon',
  }
}

function startedNow({ nowMs }: View, assignment: ReplicaAssignment): Following {
  return { is: 'following', step: 'started', as: pointedAs(assignment), sinceMs: nowMs }
}

function pointedAs({ epoch, revision, source, counted }: ReplicaAssignment): string {
  return `${epoch}@${revision} ${source.host}:${source.port} ${counted ? 'counted' : ''}`
}

/**
 * It was made ready for this a moment ago, and only its receiver is to be started: nothing is looked at, or done again,
 * before that.
 */
export function isPointed({ life, nowMs }: View, assignment: ReplicaAssignment): boolean {
  const { stage } = life
  return (
    stage.is === 'following' &&
    stage.step === 'pointed' &&
    stage.as === pointedAs(assignment) &&
    nowMs - stage.sinceMs < pointedMs
  )
}

/** Its channel is as assigned: what is left is to connect, to apply, and to remember again. */
function goesOn(view: View, assignment: ReplicaAssignment, state: ServerState & { channel: Channel }): NextPass {
  const switching = state.semiSyncSource.enabled
  const pass =
    (switching ? null : putsOptionsRight(view, assignment, state.channel)) ?? watches(view, assignment, state)
  return {
    ...pass,
    now: { course: { pointedTo: assignment.source.host } },
    steps: [...(switching ? [switchAcknowledgementsOff] : []), ...(pass.steps ?? [])],
  }
}

function putsOptionsRight(view: View, assignment: ReplicaAssignment, channel: Channel): NextPass | null {
  if (hasDueOptions(view, channel, 'applier'))
    return {
      steps: [step('put applier options right', (parts) => putApplierOptionsRight(parts, channel))],
      next: 'soon',
    }
  if (!hasDueOptions(view, channel, 'both')) return null
  return {
    steps: [step('put stopped options right', (parts) => putStoppedOptionsRight(parts, channel)), startReceiver],
    then: { life: { stage: startedNow(view, assignment) } },
    next: 'soon',
  }
}

function watches(view: View, assignment: ReplicaAssignment, state: ServerState & { channel: Channel }): NextPass {
  const { revision, source, fenced } = assignment
  const { channel } = state
  if (channel.ioRunning !== 'yes') return waitsForConnection(view, assignment, channel)
  if (state.semiSyncSource.enabled) return { next: 'soon' }
  if (!channel.sqlRunning) return cannotApply(view, revision, state)
  const remembers = remembersAgain(view, state)
  return {
    ...remembers,
    steps: [...(remembers.steps ?? []), ...(state.offlineMode === fenced ? [] : [setOffline(fenced)])],
    then: { ...remembers.then, converged: { revision, done: true, sentence: `follows ${source.instance}` } },
    next: isCatchingUp(view, assignment) ? { afterMs: catchUpLookMs } : 'when something changes',
  }
}

/** A locked account or a closed port is tried again only after a second by the server itself. */
function waitsForConnection(view: View, assignment: ReplicaAssignment, { ioError, ioErrno = 0 }: Channel): NextPass {
  const { revision, source } = assignment
  const why = ioError === '' ? '' : `: ${ioError.slice(0, 200)}`
  const converged = { revision, done: false, sentence: `connecting to ${source.instance}${why}` }
  if (ioError === '' || view.nowMs - startedAtMs(view) < connectMs) return { then: { converged }, next: 'soon' }
  return {
    steps: [stopReceiver, ...(accessDenied.has(ioErrno) ? [pointTo(source, null)] : []), startReceiver],
    then: { life: { stage: startedNow(view, assignment) }, converged },
    next: 'soon',
  }
}

function cannotApply(view: View, revision: number, state: ServerState & { channel: Channel }): NextPass {
  const { sqlError } = state.channel
  const isStopped = sqlError === ''
  const sentence = `cannot apply: ${isStopped ? 'its applier was stopped' : sqlError.slice(0, 300)}`
  return {
    steps: isStopped ? [...openGates(view, state), startApplier] : [],
    then: { converged: { revision, done: false, sentence } },
    next: isStopped ? 'soon' : 'when something changes',
  }
}

function startedAtMs({ life: { stage } }: View): number {
  return stage.is === 'following' && stage.step === 'started' ? stage.sinceMs : Number.NEGATIVE_INFINITY
}

/**
 * Writes may wait until it has caught up and is counted: what it has got is looked at more often than usual for a
 * moment.
 */
function isCatchingUp(view: View, { counted }: ReplicaAssignment): boolean {
  return !counted && view.nowMs - startedAtMs(view) < catchUpMs
}

/** Forgetful no more: it follows and holds all that the primary held when this start of the agent was last told. */
function remembersAgain(
  { stored, told, doubts }: View,
  state: ServerState,
): Pick<NextPass, 'store' | 'steps' | 'then'> {
  if (!stored.forgetful || told.catchUpTo === null) return {}
  const own = unionOf([state.executed, state.received])
  if (!own.contains(unionOf([told.catchUpTo, doubts.thrownAway]))) return {}
  return {
    store: { forgetful: false },
    steps: [notice('Remembers', 'it has caught up with everything its primary holds and counts again')],
    then: { doubts: { thrownAway: '' } },
  }
}
