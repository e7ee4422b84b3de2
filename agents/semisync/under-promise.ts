import { parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import { unionOf } from '../../topology/snapshot/holdings.ts'
import type { GtidText, PromiseReport } from '../../topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import { noticeThrownAway } from '../doubts/thrown-away.ts'

/**
 * Makes true what a promise newer than the assignment says: nothing here acknowledges or accepts a write, and the
 * report says what is held. Also run when the agent starts, since it may have died between the promise and the stop.
 */
export async function stopUnderPromise(parts: Parts): Promise<void> {
  const { file, course } = parts
  const { promise: epoch, assignment } = file.current
  if (course.promiseReport?.epoch !== epoch) {
    course.converged = { ...course.converged, done: false, sentence: `stopped under the promise of epoch ${epoch}` }
    course.promiseReport =
      assignment?.role === 'primary' ? await stopAsPrimary(parts, epoch) : await stopAsReplica(parts, epoch)
  }
}

/**
 * A former primary is killed, not drained: whatever waits stays a tail that can be cut. A demotion reports by itself.
 */
async function stopAsPrimary(parts: Parts, epoch: number): Promise<PromiseReport> {
  const { process, observer } = parts
  // Known of the server that runs, and perhaps not noted yet.
  const purged = observer.server?.purged
  if (process.state !== 'dead' && process.state !== 'absent') await process.kill()
  return whatTheDeadHold(parts, epoch, purged)
}

/** It was primary, and nobody started its server since: what it holds may be all that is left of an election's set. */
async function whatTheDeadHold({ volume, course }: Parts, epoch: number, purged?: GtidText): Promise<PromiseReport> {
  const holds = unionOf([await volume.readBinlogSet(), purged]).toString()
  course.binlogSet = holds
  return { epoch, holds, executed: holds, asPrimary: true }
}

async function stopAsReplica(parts: Parts, epoch: number): Promise<PromiseReport | null> {
  const { file, process, server, volume, course } = parts
  // What is there now is given up, and what comes is not there yet.
  if (file.current.seeding) return { epoch, holds: '', executed: '', asPrimary: false }
  const isDown = process.state === 'dead' || process.state === 'absent'
  if (isDown && file.current.mayHaveTail && !file.current.unproven) return whatTheDeadHold(parts, epoch)
  // Of a copy that is not proven nothing is said: it is taken back first.
  if (process.state !== 'running' || file.current.unproven) return null
  if (!course.receiverKept) {
    await server.stopReceiver()
    await server.setSemiSyncReplica(false)
  }
  // In this order: with a receiver that goes on, only what was read before is on disk after.
  const { executed, received, owned } = await server.readHolds()
  await volume.syncRelayLogs()
  const holds = unionOf([executed, received, owned])
  await noticeThrownAway(parts, holds)
  return { epoch, holds: holds.toString(), executed: parseGtidSet(executed).toString(), asPrimary: false }
}
