import type { Clock } from '#common/ports/ports.ts'

/**
 * The clock of the API server, as its answers tell it, to the second. What nodes and strangers wrote as a time is
 * judged by this one, since all managers hear the same. This process's own clock until the first answer.
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
