import type { World } from '#common/ports/ports.ts'

/** Lets bytes through at a rate, together for all who share it. */
export class Throttle {
  readonly #world: Pick<World, 'clock' | 'timers'>
  readonly #bytesPerMs: number
  #freeAtMs = 0

  constructor(bytesPerSecond: number, world: Pick<World, 'clock' | 'timers'>) {
    this.#bytesPerMs = bytesPerSecond / 1_000
    this.#world = world
  }

  /** Resolves when these bytes may go. */
  async pass(bytes: number, signal?: AbortSignal): Promise<void> {
    const nowMs = this.#world.clock.monotonicMs()
    const startMs = Math.max(nowMs, this.#freeAtMs)
    this.#freeAtMs = startMs + bytes / this.#bytesPerMs
    if (startMs > nowMs) await this.#world.timers.sleep(startMs - nowMs, signal)
  }
}
