import { say } from '#common/sentence/sentence.ts'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import type { Channel, ServerState } from '#topology/snapshot/observation.ts'
import { nobodysAddress } from '#topology/snapshot/replication-tree.ts'
import { hasDueOptions } from '../guard/channel-options.ts'
import { instancesOf } from '../instance/accounts.ts'
import type { Following, Stage } from '../instance/life.ts'
import { notice, when, type View } from '../instance/pass.ts'
import type { NextPass, Step } from './steps.ts'

/** So long nobody looks again at what was made ready. */
const pointedMs = 1_000

/** Points to the source and starts both threads; semi-sync takes effect at the receiver's start. */
export function begins(view: View, assignment: ReplicaAssignment, state: ServerState): NextPass {
  const { source, revision, sourceReady } = assignment
  const connectsNow = sourceReady !== false
  const started = startedNow(view, assignment)
  // While acknowledgements are switched off it is not ready: its applier was not started.
  const isPointed = !connectsNow && !state.semiSyncSource.enabled
  const stage: Stage = connectsNow ? started : isPointed ? { ...started, step: 'pointed' } : { is: 'closed' }
  const applying: readonly Step[] = state.semiSyncSource.enabled
    ? [{ do: 'switchAcknowledgementsOff' }]
    : startsApplier(view, state)
  const sentence = connectsNow
    ? say`connecting to ${source.instance}`
    : say`connects to ${source.instance} at its manager's word: once that has set its gates, or this one has its copy`
  return {
    ...(view.stored.stoppedInOrder ? { store: { stoppedInOrder: false } } : {}),
    now: [{ fact: 'made', stage: { is: 'closed' } }],
    steps: [
      ...strayed(view, assignment, state.channel),
      ...pointsTo(view, assignment, state.channel),
      ...when(connectsNow, { do: 'startReceiver' }),
      ...applying,
      { do: 'outdate' },
    ],
    then: [
      { fact: 'pointed', host: source.host },
      { fact: 'made', stage },
      { fact: 'converged', revision, done: false, sentence },
    ],
    next: connectsNow ? 'soon' : 'when something changes',
  }
}

function pointsTo(view: View, { source, counted }: ReplicaAssignment, channel: Channel | null): readonly Step[] {
  return [
    ...when(channel !== null && channel.ioRunning !== 'no', { do: 'stopReceiver' }),
    { do: 'setAcknowledging', on: counted },
    { do: hasDueOptions(view, channel, 'receiver') ? 'pointWithOptions' : 'pointTo', source, channel },
  ]
}

function strayed({ course }: View, { source }: ReplicaAssignment, channel: Channel | null): readonly Step[] {
  if (channel === null || course.pointedTo !== source.host) return []
  if ([source.host, nobodysAddress.host].includes(channel.sourceHost)) return []
  return [notice('WrongSource', say`this replica followed ${channel.sourceHost} and follows ${source.instance} again`)]
}

/**
 * Everybody may clone from, or fetch from, a replica: its gates guard nothing, since its semi-sync source is off, and a
 * promotion sets them anew. Done while it is still offline, so for those that are not there yet too: one that is added
 * later is copied from here. An adopted server is not offline when it is managed, and nobody had opened its gates.
 */
export function startsApplier({ config }: View, { offlineMode, openGates }: ServerState): readonly Step[] {
  const open = instancesOf(config.cluster).filter((instance) => instance !== config.instance)
  const mayOpen = offlineMode || config.far !== undefined
  const areOpen = open.every((instance) => openGates.includes(instance))
  return [...when(mayOpen && !areOpen, { do: 'openGates', open }), { do: 'startApplier' }]
}

/** Everything is prepared, and its source is ready now. */
export function connects(view: View, assignment: ReplicaAssignment): NextPass {
  const { revision, source } = assignment
  return {
    now: [{ fact: 'made', stage: { is: 'closed' } }],
    steps: [{ do: 'startReceiver' }, { do: 'outdate' }],
    then: [
      { fact: 'made', stage: startedNow(view, assignment) },
      { fact: 'converged', revision, done: false, sentence: say`connecting to ${source.instance}` },
    ],
    next: 'soon',
  }
}

/** Its receiver is started now. */
export function startedNow({ nowMs }: View, assignment: ReplicaAssignment): Following {
  return { is: 'following', step: 'started', as: pointedAs(assignment), sinceMs: nowMs }
}

export function pointedAs({ epoch, revision, source, counted }: ReplicaAssignment): string {
  return `${epoch}@${revision} ${source.host}:${source.port} ${counted ? 'counted' : ''}`
}

/**
 * The replica was made ready for this a moment ago, and only its receiver is to be started: nothing is looked at, or
 * done again, before that.
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
