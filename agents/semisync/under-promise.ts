import { say } from '#common/sentence/sentence.ts'
import type { PromiseReport } from '#topology/snapshot/observation.ts'
import { noticesOpening } from '../doubts/opened.ts'
import { rest, when, type View } from '../instance/pass.ts'
import type { NextPass, Step } from './steps.ts'

/**
 * Makes true what a promise newer than the assignment says: nothing here acknowledges or accepts a write, and the
 * report says what is held. Also decided when the agent starts, since it may have died between the promise and the
 * stop. Null once it is reported, and while it cannot be.
 */
export function underPromise(view: View): NextPass | null {
  const { stored, course } = view
  const { promise: epoch, assignment } = stored
  if (course.promiseReport?.epoch === epoch) return null
  const steps = assignment?.role === 'primary' ? stopsAsPrimary(view) : stopsAsReplica(view)
  if (steps === null) return null
  const sentence = say`stopped under the promise of epoch ${epoch}`
  return { now: [{ fact: 'converged', done: false, sentence }], steps, next: 'at once' }
}

/**
 * A former primary is killed, not drained: whatever waits stays a tail that can be cut. A demotion reports by itself.
 */
function stopsAsPrimary(view: View): readonly Step[] {
  const { stored, server, life, course, hasWrittenAll } = view
  const { promise: epoch } = stored
  if (!hasWrittenAll) return [{ do: 'kill' }, reportTheDead(epoch, server?.purged)]
  const holds = life.ending === null ? null : course.binlogSet
  // Read already since the server ended.
  return holds === null ? [reportTheDead(epoch)] : [reported({ epoch, holds, executed: holds, asPrimary: true })]
}

function stopsAsReplica(view: View): readonly Step[] | null {
  const { stored, process, course } = view
  const { promise: epoch } = stored
  // What is there now is given up, and what comes is not there yet.
  if (stored.seeding) return [reported({ epoch, ...nothing })]
  // A copy that is not proven is taken back first, and nothing is said of it.
  if (stored.unproven) return null
  if (view.hasWrittenAll && stored.mayHaveTail) return [reportTheDead(epoch)]
  if (process !== 'running') return null
  return [...when(!course.receiverKept, ...stopReceiving), { do: 'reportHeld', epoch }]
}

const nothing = { holds: '', executed: '', asPrimary: false }
const stopReceiving: readonly Step[] = [{ do: 'stopReceiver' }, { do: 'setAcknowledging', on: false }]

function reported(report: PromiseReport): Step {
  return { do: 'know', fact: { fact: 'reported', report } }
}

/** @param purged known of the server that ran, and perhaps not noted yet */
function reportTheDead(epoch: number, purged = ''): Step {
  return { do: 'reportTheDead', epoch, purged }
}

/**
 * Nothing but its agent opens a replica, and under a promise its agent does not; what the agent opened for a copy
 * before that it closes now. Where another hand did, what was reported may be less than what is held now, and so may
 * what was made ready to lead.
 */
export function staysClosed(view: View): NextPass {
  const { stored, server, looked, life } = view
  if (stored.assignment?.role !== 'replica' || server === null || server.superReadOnly) return rest
  // What was seen last may be from before it was closed.
  if (!looked) return { next: 'after a look' }
  const closes = [{ do: 'closeForWrites' }, { do: 'outdate' }] as const
  if (life.openedByAgent) return { steps: closes, next: 'after a look' }
  return noticesOpening(view, true) ?? { now: [{ fact: 'openedByHand' }], steps: closes, next: 'at once' }
}
