import type { Clock, Timer, Timers } from '#common/ports/ports.ts'

const beatMs = 250
/** A longer time between two beats is a time in which the agent stood still. */
const longestMs = 2 * beatMs

/**
 * The time in which this agent was awake. A program that stood still knows nothing of the time between: once awake,
 * deadlines end before the answers are read that lie there. So the silence of others is measured by this.
 */
export class AwakeTime {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #ms = 0
  #beatAtMs: number
  #timer: Timer | null = null

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#beatAtMs = clock.monotonicMs()
  }

  start(timers: Pick<Timers, 'every'>): void {
    this.#beat()
    this.#timer = timers.every(beatMs, () => this.#beat())
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  /** Milliseconds since the beginning. Without a beat all time counts. */
  get nowMs(): number {
    const sinceBeatMs = this.#clock.monotonicMs() - this.#beatAtMs
    return this.#ms + (this.#timer === null ? sinceBeatMs : Math.min(sinceBeatMs, longestMs))
  }

  #beat(): void {
    this.#ms = this.nowMs
    this.#beatAtMs = this.#clock.monotonicMs()
  }
}
