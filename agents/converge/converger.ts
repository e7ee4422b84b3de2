import { say } from '#common/sentence/sentence.ts'
import { oneAfterOther } from '#common/one-after-other.ts'
import { described } from '#common/errors/errors.ts'
import type { Timer } from '#common/ports/ports.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { endStartedByHand } from '../doubts/started-by-hand.ts'
import { forgetPutRight } from '../guard/channel-options.ts'
import type { Mode } from '../instance/agent-mode.ts'
import { learn } from '../instance/learn.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { modeOf } from './mode-of.ts'
import { nextPass } from './next-pass.ts'
import { runPass } from './runner.ts'
import type { NextPass, Step } from './steps.ts'

/**
 * A pass that did not reach its goal is tried again after this long, and a little later each time: nothing signals when
 * a replica has connected.
 */
const againMs = 15
const slowestAgainMs = 250
/** After a pass that failed. */
const retryMs = 200
/** More than any way to a goal has. Orders wait behind a pass, so it ends in any case. */
const mostDecisions = 30

/**
 * Makes the server what the stored assignment says and keeps it so, in passes. What a pass does is decided by
 * `nextPass`. Passes and orders never overlap: both go through one queue, in the order they came.
 */
export class Converger {
  readonly mode: Mode<Step>
  readonly #parts: Parts
  readonly #changed: () => void
  readonly #inOrder = oneAfterOther()
  #passQueued = false
  #fruitless = 0
  #stopped = false
  #timer: Timer | null = null

  constructor(parts: Parts, changed: () => void) {
    this.#parts = parts
    this.#changed = changed
    this.mode = modeOf(parts)
  }

  /** Runs `task` alone, after everything queued before it. */
  alone<T>(task: () => Promise<T>): Promise<T> {
    return this.#inOrder(task)
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

  /** Runs one pass; never rejects: what went wrong becomes the sentence. */
  async pass(): Promise<void> {
    if (this.#stopped) return
    const { course, file, process, timings } = this.#parts
    // Clients wait for the end of a primary to be seen, and for no other's.
    process.lookEvery(file.current.assignment?.role === 'replica' ? timings.replicaWatchMs : timings.processWatchMs)
    try {
      await endStartedByHand(this.#parts)
      this.#goOn(await this.#converge())
    } catch (error) {
      const shown = course.converged
      learn(this.#parts, { fact: 'converged', done: false, sentence: say`${described(error)}` })
      if (course.converged !== shown) this.#changed()
      this.#wakeAfter(retryMs)
    }
  }

  /** Makes true what was just promised, as far as that is possible now. Rejects with what stands in the way. */
  async keepPromise(): Promise<void> {
    await endStartedByHand(this.#parts)
    for (;;) {
      const next = this.mode.underPromise(viewOf(this.#parts, null))
      if (next === null || !(await this.#run(next))) return
    }
  }

  async #converge(): Promise<NextPass['next']> {
    let looked: ServerState | null = null
    for (let decisions = 0; decisions < mostDecisions; decisions += 1) {
      const pass = nextPass(viewOf(this.#parts, looked), this.mode)
      const isNew = await this.#run(pass)
      if (pass.next === 'after a look') looked = await this.#look()
      else if (pass.next !== 'at once') return pass.next
      else if (!isNew) return 'soon'
    }
    return 'soon'
  }

  async #run(pass: NextPass): Promise<boolean> {
    const { course, file } = this.#parts
    const [stored, shown] = [file.current, course.converged]
    try {
      return await runPass(this.#parts, pass)
    } finally {
      // What is stored is shown too: on a cluster that nobody writes to, nothing else would tell that a follower has
      // caught up and counts again.
      if (course.converged !== shown || file.current !== stored) this.#changed()
    }
  }

  /** Before anybody is let in clients are shown what they are to be shown. */
  async #look(): Promise<ServerState> {
    const { observer, clientCertificate } = this.#parts
    await clientCertificate?.show()
    const state = await observer.recent(againMs)
    forgetPutRight(this.#parts, state.channel)
    return state
  }

  #goOn(next: NextPass['next']): void {
    this.#fruitless = next === 'soon' ? this.#fruitless + 1 : 0
    if (next === 'soon') this.#wakeAfter(Math.min(slowestAgainMs, againMs + this.#fruitless))
    else if (typeof next === 'object') this.#wakeAfter(next.afterMs)
  }

  /** In place of what an earlier pass wanted: else each pass for another reason would be one more for ever. */
  #wakeAfter(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#parts.world.timers.after(ms, () => this.wake())
  }
}
