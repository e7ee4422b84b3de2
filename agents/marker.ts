import { describeError } from '../src/common/errors.ts'
import type { Parts } from './parts.ts'

/**
 * Markers (design §5): a one-row write of the agent's own. When it returns, k counted members hold everything before it. A marker that waits is never killed: a killed wait commits
 * without its acknowledgement. Beside it one more may be written to wake it: a replica that reconnects and holds a waiting transaction already does not acknowledge it again, but
 * acknowledges the next write, and with that everything before.
 */
export class Markers {
  readonly #parts: Parts
  readonly #done: () => void
  readonly #waiting = new Set<1 | 2>()

  constructor(parts: Parts, done: () => void) {
    this.#parts = parts
    this.#done = done
  }

  /** Writes one in the background. It counts for `revision` only if nothing was reassigned before it returned. */
  write(revision: number): void {
    if (!this.#waiting.has(1)) this.#begin(1, revision)
  }

  /** Sessions wait although enough replicas are connected: another write makes them acknowledge. */
  wakeWaiting(revision: number): void {
    if (!this.#waiting.has(2)) this.#begin(2, revision)
  }

  #begin(slot: 1 | 2, revision: number): void {
    this.#waiting.add(slot)
    this.#writeOne(slot, revision)
      .catch((error: unknown) => this.#parts.notices.add('MarkerFailed', `a marker failed: ${describeError(error)}`))
      .finally(() => {
        this.#waiting.delete(slot)
        this.#done()
      })
  }

  async #writeOne(slot: 1 | 2, revision: number): Promise<void> {
    const { server, file, memory, world, process } = this.#parts
    const { pid } = process
    await server.writeMarker(world.random.hex(16), slot)
    const { assignment, promise, unsettled } = file.current
    const still = assignment?.role === 'primary' && assignment.revision === revision && promise === assignment.epoch && process.pid === pid
    if (!still) return
    memory.markedRevision = revision
    if (unsettled) await file.update({ unsettled: false })
  }
}
