import { reported, say } from '#common/sentence/sentence.ts'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { passesByItself } from '#topology/snapshot/no-space.ts'
import type { Channel, ServerState } from '#topology/snapshot/observation.ts'
import { hasDueOptions } from '../guard/channel-options.ts'
import { notice, rest, when, type View } from '../instance/pass.ts'
import { begins, connects, isPointed, startedNow, startsApplier } from './connecting.ts'
import type { NextPass } from './steps.ts'

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

/** Connects as assigned, or goes on as it does. */
export function follows(view: View, assignment: ReplicaAssignment, state: ServerState): NextPass {
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

/** Its channel is as assigned: what is left is to connect, to apply, and to remember again. */
function goesOn(view: View, assignment: ReplicaAssignment, state: ServerState & { channel: Channel }): NextPass {
  const switching = state.semiSyncSource.enabled
  const pass =
    (switching ? null : putsOptionsRight(view, assignment, state.channel)) ?? watches(view, assignment, state)
  return {
    ...pass,
    now: [{ fact: 'pointed', host: assignment.source.host }],
    steps: [...when(switching, { do: 'switchAcknowledgementsOff' }), ...(pass.steps ?? [])],
  }
}

function putsOptionsRight(view: View, assignment: ReplicaAssignment, channel: Channel): NextPass | null {
  if (hasDueOptions(view, channel, 'applier'))
    return { steps: [{ do: 'putApplierOptionsRight', channel }], next: 'soon' }
  if (!hasDueOptions(view, channel, 'both')) return null
  return {
    steps: [{ do: 'putStoppedOptionsRight', channel }, { do: 'startReceiver' }],
    then: [{ fact: 'made', stage: startedNow(view, assignment) }],
    next: 'soon',
  }
}

function watches(view: View, assignment: ReplicaAssignment, state: ServerState & { channel: Channel }): NextPass {
  const { revision, source, fenced } = assignment
  const { channel } = state
  if (channel.ioRunning !== 'yes') return waitsForConnection(view, assignment, channel)
  if (state.semiSyncSource.enabled) return { next: 'soon' }
  if (!channel.sqlRunning) return cannotApply(view, assignment, state)
  const remembers = remembersAgain(view, state)
  return {
    ...remembers,
    steps: [...(remembers.steps ?? []), ...when(state.offlineMode !== fenced, { do: 'setOffline', on: fenced })],
    then: [
      ...(remembers.then ?? []),
      { fact: 'converged', revision, done: true, sentence: say`follows ${source.instance}` },
    ],
    next: isCatchingUp(view, assignment) ? { afterMs: catchUpLookMs } : 'when something changes',
  }
}

/** A locked account or a closed port is tried again only after a second by the server itself. */
function waitsForConnection(view: View, assignment: ReplicaAssignment, { ioError, ioErrno = 0 }: Channel): NextPass {
  const { revision, source } = assignment
  const why = ioError === '' ? '' : say`: ${reported(ioError.slice(0, 200))}`
  const sentence = say`connecting to ${source.instance}${why}`
  const converged = { fact: 'converged', revision, done: false, sentence } as const
  if (ioError === '' || view.nowMs - startedAtMs(view) < connectMs) return { then: [converged], next: 'soon' }
  return {
    steps: [
      { do: 'stopReceiver' },
      ...when(accessDenied.has(ioErrno), { do: 'pointTo', source, channel: null }),
      { do: 'startReceiver' },
    ],
    then: [{ fact: 'made', stage: startedNow(view, assignment) }, converged],
    next: 'soon',
  }
}

/** What stopped it may be over: it is started again so much later. */
const applyAgainMs = 5_000

function cannotApply(view: View, assignment: ReplicaAssignment, state: ServerState & { channel: Channel }): NextPass {
  const { sqlError } = state.channel
  const { revision } = assignment
  const isStopped = sqlError === ''
  const sentence = say`cannot apply: ${isStopped ? say`its applier was stopped` : reported(sqlError.slice(0, 300))}`
  const then = [{ fact: 'converged', revision, done: false, sentence }] as const
  if (isStopped) return { steps: startsApplier(view, state), then, next: 'soon' }
  if (!passesByItself(sqlError)) return { then, next: 'when something changes' }
  const leftMs = startedAtMs(view) + applyAgainMs - view.nowMs
  if (leftMs > 0) return { then, next: { afterMs: leftMs } }
  return {
    steps: startsApplier(view, state),
    then: [{ fact: 'made', stage: startedNow(view, assignment) }, ...then],
    next: { afterMs: applyAgainMs },
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
    steps: [notice('Remembers', say`this replica has caught up with everything its primary holds and counts again`)],
    then: [{ fact: 'caughtUp' }],
  }
}
