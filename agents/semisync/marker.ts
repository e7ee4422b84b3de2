import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { learn } from '../instance/learn.ts'
import { describeError } from '#common/errors/errors.ts'
import { strangersAmong } from './acknowledgers.ts'
import { mayBeEnding } from '../doubts/ending.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'
import { doubtsOf, settle } from '../doubts/unsettled.ts'

/**
 * Markers (docs/why/safety.md, "Changing the sync set"): a one-row write of the agent's own. When it returns, k counted
 * members hold everything before it. A marker that waits is never killed: a killed wait commits without its
 * acknowledgement. Beside it others may be written to wake it: a replica that reconnects and holds a waiting
 * transaction already does not acknowledge it again, but acknowledges the next write, and with that everything before.
 */
export class Markers {
  readonly #parts: Parts
  readonly #done: () => void
  #waits = false
  #wakers = 0
  #wokenFor = ''

  constructor(parts: Parts, done: () => void) {
    this.#parts = parts
    this.#done = done
  }

  /**
   * Writes one in the background. The marker counts for `revision` only if nothing was reassigned before the marker
   * returned.
   */
  write(revision: number): void {
    if (this.#waits) return
    this.#waits = true
    this.#begin(1, revision, () => (this.#waits = false))
  }

  /**
   * Sessions wait although enough replicas are connected: another write makes them acknowledge. One for each set of
   * `connections`: a replica that came back again, before it had acknowledged the last one, needs another.
   */
  wakeWaiting(revision: number, connections: string): void {
    if (this.#wakers > 0 && (connections === this.#wokenFor || this.#wakers >= mostWakers)) return
    this.#wokenFor = connections
    this.#wakers += 1
    this.#begin(2, revision, () => (this.#wakers -= 1))
  }

  #begin(slot: 1 | 2, revision: number, ended: () => void): void {
    const { notices, world } = this.#parts
    this.#writeOne(slot, revision)
      .catch((error: unknown) => {
        notices.add('MarkerFailed', `a marker failed: ${describeError(error)}`)
        return world.timers.sleep(failedPauseMs)
      })
      .finally(() => {
        ended()
        this.#done()
      })
  }

  async #writeOne(slot: 1 | 2, revision: number): Promise<void> {
    const { server, observer, world, process } = this.#parts
    const { pid } = process
    const doubts = doubtsOf(this.#parts)
    await server.writeMarker(world.random.hex(16), slot)
    // Who connected a moment ago may have acknowledged it before anybody noticed: looked at anew.
    observer.outdate()
    const { dumpThreads, semiSyncSource } = await observer.refresh()
    // A shutdown gives up waiting, and the marker returns as if it were acknowledged.
    if (await mayBeEnding(this.#parts)) return
    const assignment = this.#assignmentOf(revision)
    if (assignment === null || process.pid !== pid || doubts !== doubtsOf(this.#parts)) return
    if (strangersAmong(dumpThreads, assignment).length > 0 || !waitsFor(assignment.acks, semiSyncSource)) return
    learn(this.#parts, { fact: 'marked', revision })
    if (this.#parts.file.current.unsettled) await settle(this.#parts, doubts)
  }

  /** Null where something else was assigned or promised since. */
  #assignmentOf(revision: number): PrimaryAssignment | null {
    const stored = this.#parts.file.current
    const { assignment } = stored
    return assignment?.role === 'primary' && assignment.revision === revision && leads(stored) ? assignment : null
  }
}

/** Where a hand switched acknowledgements off, a marker returns without any. */
function waitsFor(acks: number, { enabled, intact, acks: inForce }: ServerState['semiSyncSource']): boolean {
  return acks === 0 || (enabled && intact && inForce >= acks)
}

/** Each waits in a row of its own. */
const mostWakers = 4
/** A refused one is not tried again at once. */
const failedPauseMs = 500
