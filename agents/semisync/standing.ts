import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { isUnsettled } from '../doubts/unsettled.ts'
import { whyClosed } from '../instance/known.ts'
import { when, type View } from '../instance/pass.ts'
import { isCounted } from './acknowledgers.ts'
import type { Step } from './steps.ts'

/** Whether a primary is to be open, and what is proven of its writes. */

/** What keeps this primary closed; null when it is to be open. */
export function whyNotOpen({ guards }: View, assignment: PrimaryAssignment, state: ServerState): Sentence | null {
  if (assignment.fenced) return say`fenced by a person`
  return isClosedForCopy(assignment, state)
    ? say`it is being copied, and too few replicas can acknowledge`
    : whyClosed(guards)
}

/** Ends by itself when enough replicas are back, whether a manager says so or not. */
export function isClosedForCopy(assignment: PrimaryAssignment, state: ServerState): boolean {
  return (
    assignment.donates === true &&
    state.dumpThreads.filter((thread) => thread.semiSync && isCounted(thread, assignment)).length < assignment.acks
  )
}

/**
 * Never drains: read-only would hang while sessions wait for an acknowledgement, and ending those sessions would commit
 * what nobody holds. Fenced, or without its lease, the server is killed instead; a guard for space just waits, since
 * nothing is written then.
 */
export function closes({ guards }: View, { fenced }: PrimaryAssignment, state: ServerState): readonly Step[] {
  if (state.superReadOnly && state.offlineMode) return []
  if (state.semiSyncSource.waiting === 0) return [{ do: 'closeUndrained' }]
  return when(fenced || guards.closed.lease !== null, { do: 'kill' })
}

export interface Led {
  readonly assignment: PrimaryAssignment
  /** What the server said. A server that was made ready is not asked again: nobody was let in since. */
  readonly state: ServerState
}

/** Markers prove steps of the sync set, settle a tail, and wake a waiting session after a counted replica came back. */
export function keepMarked(view: View, { assignment, state }: Led, isDoubted = false): readonly Step[] {
  const { acks, revision } = assignment
  const { life, stored } = view
  if (acks === 0) return [{ do: 'know', fact: { fact: 'marked', revision } }]
  // Closed, it takes no marker either; and one that waits would hold up the closing.
  if (whyNotOpen(view, assignment, state) !== null) return []
  const counted = state.dumpThreads.filter((thread) => thread.semiSync)
  const isStuck = state.semiSyncSource.waiting > 0 && counted.length >= acks
  const isUnproven = isDoubted || life.markedRevision < revision || isUnsettled(stored, view)
  const connections = counted
    .map(({ threadId }) => threadId)
    .toSorted((a, b) => a - b)
    .join()
  return [
    ...when(isUnproven, { do: 'writeMarker', revision }),
    ...when(isStuck, { do: 'wakeWaiting', revision, connections }),
  ]
}
