import { noticesOpening } from '../doubts/opened.ts'
import { noticeThrownAway } from '../doubts/thrown-away.ts'
import { closeForWrites, outdate, rest, step, type NextPass, type Step, type View } from '../instance/pass.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { GtidText, PromiseReport } from '#topology/snapshot/observation.ts'
import { kill } from './primary-steps.ts'
import { stopReceiver } from './replica-steps.ts'

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
  const sentence = `stopped under the promise of epoch ${epoch}`
  return { now: [{ fact: 'converged', done: false, sentence }], steps, next: 'at once' }
}

/**
 * A former primary is killed, not drained: whatever waits stays a tail that can be cut. A demotion reports by itself.
 */
function stopsAsPrimary(view: View): readonly Step[] {
  // Known of the server that runs, and perhaps not noted yet.
  const purged = view.server?.purged
  return isDown(view) ? [reportTheDead(view.stored.promise)] : [kill, reportTheDead(view.stored.promise, purged)]
}

function stopsAsReplica(view: View): readonly Step[] | null {
  const { stored, process, course } = view
  // What is there now is given up, and what comes is not there yet.
  if (stored.seeding) return [reported({ epoch: stored.promise, holds: '', executed: '', asPrimary: false })]
  // A copy that is not proven is taken back first, and nothing is said of it.
  if (stored.unproven) return null
  if (isDown(view) && stored.mayHaveTail) return [reportTheDead(stored.promise)]
  if (process !== 'running') return null
  return [...(course.receiverKept ? [] : stopReceiving), reportHeld(stored.promise)]
}

/**
 * Nothing but its agent opens a replica, and under a promise its agent does not. Where another hand did, what was
 * reported may be less than what is held now, and so may what was made ready to lead.
 */
export function staysClosed(view: View): NextPass {
  const { stored, server, looked } = view
  if (stored.assignment?.role !== 'replica' || server === null || server.superReadOnly) return rest
  // What was seen last may be from before it was closed.
  if (!looked) return { next: 'after a look' }
  return (
    noticesOpening(view, true) ?? { now: [{ fact: 'openedByHand' }], steps: [closeForWrites, outdate], next: 'at once' }
  )
}

function isDown({ process }: View): boolean {
  return process === 'dead' || process === 'absent'
}

const stopReceiving = [stopReceiver, step('stop acknowledging', ({ server }) => server.setSemiSyncReplica(false))]

/** In this order: with a receiver that goes on, only what was read before is on disk after. */
function reportHeld(epoch: number): Step {
  return {
    name: 'report what is held',
    run: async (parts) => {
      const { executed, received, owned } = await parts.server.readHolds()
      await parts.volume.syncRelayLogs()
      const holds = unionOf([executed, received, owned])
      await noticeThrownAway(parts, holds)
      const report = { epoch, holds: holds.toString(), executed: parseGtidSet(executed).toString(), asPrimary: false }
      return { fact: 'reported', report }
    },
  }
}

/**
 * The instance was primary, and nobody started its server since: what it holds may be all that is left of an election's
 * set.
 */
function reportTheDead(epoch: number, purged?: GtidText): Step {
  return {
    name: 'report what the dead server holds',
    run: async ({ volume }) => {
      const holds = unionOf([await volume.readBinlogSet(), purged]).toString()
      return { fact: 'reported', report: { epoch, holds, executed: holds, asPrimary: true }, ofFiles: true }
    },
  }
}

function reported(report: PromiseReport): Step {
  return { name: 'report', run: async () => ({ fact: 'reported', report }) }
}
