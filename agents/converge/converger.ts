import { describeError } from '../../src/common/errors/errors.ts'
import type { Assignment } from '../../failover/protocol/order.ts'
import type { ServerState } from '../../topology/snapshot/observation.ts'
import { rememberStop } from '../doubts/forgetful.ts'
import type { Mode } from '../instance/mode.ts'
import type { Parts, Pass } from '../instance/parts.ts'
import { modeOf } from './mode-of.ts'
import { passStartGate } from './start-gate.ts'
import { takeBack } from '../doubts/unproven-copy.ts'

/**
 * A pass that did not reach its goal is tried again after this long, and a little later each time: nothing signals when
 * a replica has connected.
 */
const againMs = 15
const slowestAgainMs = 250
/** After a pass that failed. */
const retryMs = 200

/**
 * Makes the server what the stored assignment says and keeps it so, in passes. Passes and orders never overlap: both go
 * through one queue, in the order they came.
 */
export class Converger {
  readonly mode: Mode
  readonly #parts: Parts
  readonly #changed: () => void
  #queue: Promise<unknown> = Promise.resolve()
  #passQueued = false
  #fruitless = 0
  #stopped = false

  constructor(parts: Parts, changed: () => void) {
    this.#parts = parts
    this.#changed = changed
    // What a mode found out by itself is shown at once. A pass may see nothing new in that, and on an idle cluster the
    // manager would wait.
    this.mode = modeOf(parts, () => {
      changed()
      this.wake()
    })
  }

  /** Runs `task` alone, after everything queued before it. */
  alone<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#queue.then(task)
    this.#queue = run.catch(() => undefined)
    return run
  }

  /** Asks for a pass, at most one waiting at a time. */
  wake(): void {
    if (this.#passQueued || this.#stopped) return
    this.#passQueued = true
    void this.alone(async () => {
      this.#passQueued = false
      await this.pass()
    })
  }

  stop(): void {
    this.#stopped = true
  }

  /** One pass; never rejects: what went wrong becomes the sentence. */
  async pass(): Promise<void> {
    if (this.#stopped) return
    const { course, world, file, process, timings } = this.#parts
    // Clients wait for the end of a primary to be seen, and for no other's.
    process.lookEvery(file.current.assignment?.role === 'replica' ? timings.replicaWatchMs : timings.processWatchMs)
    const [before, stored] = [JSON.stringify(course.converged), file.current]
    try {
      const { again, afterMs } = await this.#converge()
      this.#fruitless = again ? this.#fruitless + 1 : 0
      if (again) world.timers.after(Math.min(slowestAgainMs, againMs + this.#fruitless), () => this.wake())
      else if (afterMs !== undefined) world.timers.after(afterMs, () => this.wake())
    } catch (error) {
      course.converged = { ...course.converged, done: false, sentence: describeError(error) }
      world.timers.after(retryMs, () => this.wake())
    }
    // What is stored is shown too: on a cluster that nobody writes to, nothing else would tell that a follower has
    // caught up and counts again.
    if (JSON.stringify(course.converged) !== before || file.current !== stored) this.#changed()
  }

  async #converge(): Promise<Pass> {
    const { file, process, pod, course } = this.#parts
    const { assignment, promise, unproven } = file.current
    if (pod.termination?.stopping) return { again: false }
    // Whoever died between a copy's swap and its proof is found here first: passes and swaps exclude each other.
    if (unproven) await takeBack(this.#parts)
    if (this.#isCopying()) return { again: false }
    if (promise > (assignment?.epoch ?? 0) && promise > 0) await this.mode.stopUnderPromise()
    await rememberStop(this.#parts)
    if (pod.termination === null) await passStartGate(this.#parts)
    if (process.state !== 'running' || promise > (assignment?.epoch ?? 0)) return { again: false }
    const state = await this.#stateFor(assignment)
    if (assignment === null) {
      course.converged = { revision: 0, done: false, sentence: 'waits for its first assignment' }
      return { again: false }
    }
    return this.mode.converge(assignment, state)
  }

  /**
   * One that is copied beside what it has receives nothing either, until something newer than that copy is asked of it.
   */
  #isCopying(): boolean {
    const { file, copying } = this.#parts
    return copying.progress !== null && (file.current.seeding || copying.besideEpoch === file.current.promise)
  }

  /** Before anybody is let in clients are shown what they are to be shown. */
  async #stateFor(assignment: Assignment | null): Promise<ServerState> {
    const { observer, clientCertificate } = this.#parts
    await clientCertificate?.show()
    const isReady = assignment !== null && this.mode.isReadyFor(assignment)
    return (isReady ? observer.server : null) ?? (await observer.recent(againMs))
  }
}
