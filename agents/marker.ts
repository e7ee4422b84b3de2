import { describeError } from '../src/common/errors.ts'
import type { Parts } from './parts.ts'

/**
 * Markers (design §5): a one-row write of the agent's own. When it returns, k counted members hold everything before it. One at a time, because a marker that
 * waits must not be killed: a killed wait commits without its acknowledgement.
 */
export class Markers {
  readonly #parts: Parts
  readonly #done: () => void
  #waiting = false

  constructor(parts: Parts, done: () => void) {
    this.#parts = parts
    this.#done = done
  }

  /** Writes one in the background. It counts for `revision` only if nothing was reassigned before it returned. */
  write(revision: number): void {
    if (this.#waiting) return
    this.#waiting = true
    this.#writeOne(revision)
      .catch((error: unknown) => this.#parts.notices.add('MarkerFailed', `a marker failed: ${describeError(error)}`))
      .finally(() => {
        this.#waiting = false
        this.#done()
      })
  }

  async #writeOne(revision: number): Promise<void> {
    const { server, file, memory, world, process } = this.#parts
    const { pid } = process
    await server.writeMarker(world.random.hex(16), Number.POSITIVE_INFINITY)
    const { assignment, promise, unsettled } = file.current
    const still = assignment?.role === 'primary' && assignment.revision === revision && promise === assignment.epoch && process.pid === pid
    if (!still) return
    memory.markedRevision = revision
    if (unsettled) await file.update({ unsettled: false })
  }
}
