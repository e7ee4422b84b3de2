import { counted, say } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { restsDurabilityOn } from '#failover/settings/runtime.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { Leading } from '../instance/life.ts'
import { notice, when } from '../instance/pass.ts'
import { sentenceAbout, strangersAmong } from './acknowledgers.ts'
import type { NextPass, Step } from './steps.ts'

/**
 * What another hand changed on a primary whose assignment is in force: gates, acknowledgements, settings and who
 * acknowledges. So on an open primary, and on one that is offline until a marker is acknowledged.
 *
 * @param state seen after the assignment was applied
 */
export function putsRight(assignment: PrimaryAssignment, state: ServerState): PutRight {
  const steps = [
    ...keepsGates(assignment, state),
    ...keepsAcknowledgements(assignment, state),
    ...keepsSettings(assignment, state),
  ]
  return { steps, isDoubted: steps.some((one) => one.do === 'doubt') }
}

export interface PutRight {
  readonly steps: readonly Step[]
  /** Something may have been acknowledged that nobody holds. */
  readonly isDoubted: boolean
}

function keepsGates(assignment: PrimaryAssignment, state: ServerState): readonly Step[] {
  const wanted = [...assignment.counted, ...assignment.catchingUp].toSorted()
  if (wanted.join() === state.openGates.toSorted().join()) return []
  const was = state.openGates.join(', ') || 'nobody'
  return [
    notice(
      'GatesSet',
      say`replication accounts are unlocked for ${wanted.join(', ') || say`nobody`} again (by another hand they were for ${was})`,
    ),
    ...setsGates(wanted, state.superReadOnly),
  ]
}

function keepsAcknowledgements(assignment: PrimaryAssignment, state: ServerState): readonly Step[] {
  const { acks, revision } = assignment
  const { enabled, acks: k, intact } = state.semiSyncSource
  const inForce = enabled ? k : 0
  const isLoose = acks > 0 && !intact
  const was = isLoose ? say`its time-out, wait point or wait_no_replica was changed` : say`it was ${inForce}`
  const again = say`writes wait for ${counted(acks, 'acknowledgement')} again (by another hand ${was})`
  const strangers = strangersAmong(state.dumpThreads, assignment)
  return [
    ...when(
      inForce !== acks || isLoose,
      { do: 'doubt', revision },
      { do: 'setAcknowledgements', acks },
      notice('AcknowledgementsSet', again),
    ),
    ...when(
      strangers.length > 0,
      { do: 'doubt', revision },
      notice('StrangerAcknowledges', sentenceAbout(strangers, assignment)),
      { do: 'cutOff', threads: strangers.map(({ threadId }) => threadId) },
    ),
  ]
}

/** On disk that the tail is in doubt, before anything is put right. */
function keepsSettings({ revision }: PrimaryAssignment, state: ServerState): readonly Step[] {
  const { changedSettings: changed = [] } = state
  return [
    ...when(
      changed.some(({ name }) => restsDurabilityOn(name)),
      { do: 'doubt', revision },
    ),
    ...when(changed.length > 0, { do: 'putSettingsRight', state }),
  ]
}

/**
 * A new assignment is applied as a whole, and the server looked at again: what differs after that was changed by
 * another hand. So was what differs before from the assignment that was in force.
 */
export function assignmentApplied(assignment: PrimaryAssignment, state: ServerState, leading: Leading): NextPass {
  const { revision } = assignment
  const isDoubted = isLoosened(state, leading.applied ?? assignment)
  return {
    steps: [
      ...when(isDoubted, { do: 'doubt', revision }),
      ...setsAsAssigned(assignment, state.superReadOnly),
      { do: 'outdate' },
    ],
    then: [
      { fact: 'made', stage: { ...leading, applied: assignment } },
      { fact: 'converged', revision },
    ],
    next: 'after a look',
  }
}

/** Another hand let writes through that waited for fewer acknowledgements than `applied` asks for. */
function isLoosened({ semiSyncSource }: ServerState, { acks }: PrimaryAssignment): boolean {
  const { enabled, acks: k, intact } = semiSyncSource
  return acks > 0 && (!enabled || k < acks || !intact)
}

/** Gates and acknowledgements exactly as assigned. */
export function setsAsAssigned({ counted, catchingUp, acks }: PrimaryAssignment, isSuper: boolean): readonly Step[] {
  return [...setsGates([...counted, ...catchingUp], isSuper), { do: 'setAcknowledgements', acks }]
}

/**
 * A primary that is closed, or was demoted and goes on, is super read-only: no account can be changed then, not even
 * without the binary log.
 */
function setsGates(open: readonly InstanceName[], isSuper: boolean): readonly Step[] {
  return [...when(isSuper, { do: 'letAccountsChange' }), { do: 'setGates', open }]
}
