import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { restsDurabilityOn } from '#failover/settings/runtime.ts'
import { counted } from '#common/text/words.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { keepSettings } from '../guard/managed-settings.ts'
import { notice, step, type Step } from '../instance/pass.ts'
import { sentenceAbout, strangersAmong } from './acknowledgers.ts'
import { changeAcknowledgements, changeGates, cutOff, doubt } from './primary-steps.ts'

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
  return { steps, isDoubted: steps.some(({ name }) => name === doubt(assignment).name) }
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
      `replication accounts are unlocked for ${wanted.join(', ') || 'nobody'} again (by another hand they were for ${was})`,
    ),
    ...changeGates(wanted, state),
  ]
}

function keepsAcknowledgements(assignment: PrimaryAssignment, state: ServerState): readonly Step[] {
  const { acks } = assignment
  const { enabled, acks: k, intact } = state.semiSyncSource
  const inForce = enabled ? k : 0
  const isLoose = acks > 0 && !intact
  const was = isLoose ? 'its time-out, wait point or wait_no_replica was changed' : `it was ${inForce}`
  const again = `writes wait for ${counted(acks, 'acknowledgement')} again (by another hand ${was})`
  const strangers = strangersAmong(state.dumpThreads, assignment)
  return [
    ...(inForce !== acks || isLoose
      ? [doubt(assignment), changeAcknowledgements(acks), notice('AcknowledgementsSet', again)]
      : []),
    ...(strangers.length > 0
      ? [
          doubt(assignment),
          notice('StrangerAcknowledges', sentenceAbout(strangers, assignment)),
          cutOff(strangers.map(({ threadId }) => threadId)),
        ]
      : []),
  ]
}

/** On disk that the tail is in doubt, before anything is put right. */
function keepsSettings(assignment: PrimaryAssignment, state: ServerState): readonly Step[] {
  const { changedSettings: changed = [] } = state
  if (changed.length === 0) return []
  return [
    ...(changed.some(({ name }) => restsDurabilityOn(name)) ? [doubt(assignment)] : []),
    step('put settings right', (parts) => keepSettings(parts, state)),
  ]
}
