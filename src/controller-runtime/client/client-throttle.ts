import type { World } from '#common/ports/ports.ts'

export interface ThrottleOptions {
  /**
   * Requests per second in the long run; 0 or less means no limit (the API server has its own: priority and fairness).
   */
  readonly qps: number
  /** Requests that may go at once after a quiet time. */
  readonly burst: number
}

export const defaultThrottle: ThrottleOptions = { qps: 50, burst: 100 }

/** A token bucket in front of the API server: first come, first served. */
export class ClientThrottle {
  readonly #world: World
  readonly #options: ThrottleOptions
  /** When the bucket was, or will be, full: every request puts it one interval further. */
  #fullAtMs = -Infinity

  constructor(options: ThrottleOptions, world: World) {
    this.#options = options
    this.#world = world
  }

  /**
   * Resolves when a request may go. Rejects with the signal's reason, and gives its turn back, where that comes first.
   */
  async take(signal?: AbortSignal): Promise<void> {
    const { qps, burst } = this.#options
    if (qps <= 0) return
    const intervalMs = 1_000 / qps
    const now = this.#world.clock.monotonicMs()
    this.#fullAtMs = Math.max(this.#fullAtMs, now) + intervalMs
    const waitMs = this.#fullAtMs - now - Math.max(1, burst) * intervalMs
    if (waitMs <= 0) return
    try {
      await this.#world.timers.sleep(waitMs, signal)
    } catch (error) {
      this.#fullAtMs -= intervalMs
      throw error
    }
  }
}
