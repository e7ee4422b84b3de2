import { say } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { Fact } from '../instance/facts.ts'
import { learn, type Learner } from '../instance/learn.ts'
import { strangersAmong } from './acknowledgers.ts'
import { mayBeEnding } from '../doubts/ending.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import { leads, type StoredState } from '../instance/stored-state.ts'
import { doubtsOf, isUnsettled, settle } from '../doubts/unsettled.ts'

type MarkerParts = Learner &
  Pick<Parts, 'changed' | 'file' | 'notices' | 'observer' | 'process' | 'server' | 'volume' | 'wake' | 'world'>

/**
 * Markers (docs/why/safety.md, "Changing the sync set"): a one-row write of the agent's own. When it returns, k counted
 * members hold everything before it. A marker that waits is never killed: a killed wait commits without its
 * acknowledgement. Beside it others may be written to wake it: a replica that reconnects and holds a waiting
 * transaction already does not acknowledge it again, but acknowledges the next write, and with that everything before.
 */

/** Each waits in a row of its own. */
const mostWakers = 4
/** A refused one is not tried again at once. */
const failedPauseMs = 500

/**
 * Writes one in the background. The marker counts for `revision` only if nothing was reassigned before the marker
 * returned.
 */
export function writeMarker(parts: MarkerParts, revision: number): void {
  if (parts.jobs.writesMarker) return
  learn(parts, { fact: 'errandBegan', errand: 'writesMarker' })
  begin(parts, 1, revision, { fact: 'errandEnded', errand: 'writesMarker' })
}

/**
 * Sessions wait although enough replicas are connected: another write makes them acknowledge. Each set of `connections`
 * gets one write: a replica that came back again, before it had acknowledged the last one, needs another.
 */
export function wakeWaiting(parts: MarkerParts, revision: number, connections: string): void {
  const { count, connections: wokenFor } = parts.jobs.wakers
  if (count > 0 && (connections === wokenFor || count >= mostWakers)) return
  learn(parts, { fact: 'wakerBegan', connections })
  begin(parts, 2, revision, { fact: 'wakerEnded' })
}

function begin(parts: MarkerParts, slot: 1 | 2, revision: number, ended: Fact): void {
  const { notices, world, changed, wake } = parts
  writeOne(parts, slot, revision)
    .catch((error: unknown) => {
      notices.failed('MarkerFailed', say`a marker failed`, error)
      return world.timers.sleep(failedPauseMs)
    })
    .finally(() => {
      learn(parts, ended)
      // What is proven is shown at once. A pass may see nothing new in it, and on an idle cluster the manager would
      // wait.
      changed()
      wake()
    })
}

async function writeOne(parts: MarkerParts, slot: 1 | 2, revision: number): Promise<void> {
  const { server, observer, world, process, file } = parts
  const { pid } = process
  const doubts = doubtsOf(parts)
  await server.writeMarker(world.random.hex(16), slot)
  // A replica that connected a moment ago may have acknowledged the marker before anybody noticed: the agent looks
  // anew.
  observer.outdate()
  const { dumpThreads, semiSyncSource } = await observer.refresh()
  // A shutdown gives up waiting, and the marker returns as if it were acknowledged.
  if (await mayBeEnding(parts)) return
  const assignment = assignmentOf(file.current, revision)
  if (assignment === null || process.pid !== pid || doubts !== doubtsOf(parts)) return
  if (strangersAmong(dumpThreads, assignment).length > 0 || !waitsFor(assignment.acks, semiSyncSource)) return
  learn(parts, { fact: 'marked', revision })
  if (isUnsettled(file.current, parts)) await settle(parts, doubts)
}

/** Null where something else was assigned or promised since. */
function assignmentOf(stored: StoredState, revision: number): PrimaryAssignment | null {
  const { assignment } = stored
  return assignment?.role === 'primary' && assignment.revision === revision && leads(stored) ? assignment : null
}

/** Where a hand switched acknowledgements off, a marker returns without any. */
function waitsFor(acks: number, { enabled, intact, acks: inForce }: ServerState['semiSyncSource']): boolean {
  return acks === 0 || (enabled && intact && inForce >= acks)
}
