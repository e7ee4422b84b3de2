import type { Clock } from '#common/ports/ports.ts'

/**
 * The clock of the API server, as its answers tell it, to the second. A time that nodes or strangers wrote is judged by
 * this clock, since all managers hear the same. Until the first answer the process's own clock counts.
 */
export class ServerClock {
  readonly #clock: Clock
  #aheadMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param serverMs of an answer that came just now; undefined where it did not say */
  heard(serverMs: number | undefined): void {
    if (serverMs !== undefined) this.#aheadMs = serverMs - this.#clock.wallMs()
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#aheadMs
  }
}
