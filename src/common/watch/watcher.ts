import { described } from '../errors/errors.ts'
import type { Clock } from '../ports/ports.ts'
import { duration, say, text, type Said } from '../sentence/sentence.ts'
import type { TellOfWatch, Watch, WatchView } from './watch.ts'

const usualDeadlineMs = 60_000

/**
 * Takes the looks of one watch. There are never two at once, also where one hangs: the second would do the same beside
 * the first. No timer is set for the deadline: each moment at which a look is due is also one to tell that the look
 * before goes on.
 */
export class Watcher {
  readonly watch: Watch
  readonly #clock: Clock
  readonly #tell: TellOfWatch
  #beganMs: number | null = null
  #last: { readonly endedMs: number; readonly tookMs: number } | null = null
  #failure: Said = ''
  #rests = false
  #isLateTold = false
  #isStopped = false

  constructor(watch: Watch, clock: Clock, tell: TellOfWatch) {
    this.watch = watch
    this.#clock = clock
    this.#tell = tell
  }

  /** Looks, if there is something to look at and no look is under way. Never rejects. */
  async look(): Promise<void> {
    if (this.#isStopped) return
    if (this.#beganMs !== null) return this.#tellLate(this.#clock.monotonicMs() - this.#beganMs)
    try {
      this.#rests = this.watch.while?.() === false
      if (this.#rests || this.watch.isDue?.() === false) return
      this.#beganMs = this.#clock.monotonicMs()
      await this.watch.look()
      this.#failure = ''
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#ended()
    }
  }

  /** The look under way ends by itself, and nobody is told of its failure. */
  stop(): void {
    this.#isStopped = true
  }

  view(everyMs: number): WatchView {
    const nowMs = this.#clock.monotonicMs()
    return {
      name: this.watch.name,
      everyMs,
      rests: this.#rests,
      last: this.#last && { agoMs: nowMs - this.#last.endedMs, tookMs: this.#last.tookMs },
      underWayMs: this.#beganMs === null ? null : nowMs - this.#beganMs,
      failure: String(this.#failure),
    }
  }

  #failed(error: unknown): void {
    const { failure } = this.watch
    const why = described(error)
    const said = failure === undefined ? say`${why}` : say`${failure.sentence}: ${why}`
    this.#failure = said
    if (failure !== undefined && !this.#isStopped) this.#tell(failure.code, said)
  }

  #ended(): void {
    if (this.#beganMs === null) return
    const endedMs = this.#clock.monotonicMs()
    this.#last = { endedMs, tookMs: endedMs - this.#beganMs }
    this.#beganMs = null
    this.#isLateTold = false
  }

  #tellLate(forMs: number): void {
    const { name, deadlineMs = usualDeadlineMs } = this.watch
    if (this.#isLateTold || forMs <= deadlineMs) return
    this.#isLateTold = true
    this.#tell(
      'WatchLate',
      say`the watch of ${text(name)} has been at one look for ${duration(forMs)}: the next look begins when this one ends`,
    )
  }
}
