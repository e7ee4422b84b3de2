import type { World } from '#common/ports/ports.ts'
import type { Again } from './s3-failure.ts'

export interface RetryParts {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>
  /** How long a request is tried while nothing of it gets on. */
  readonly budgetMs: number
  readonly signal?: AbortSignal | undefined
}

const firstPauseMs = 200
const longestPauseMs = 5_000
const briefTries = 3

/** Counts what failed, and waits between. */
export class Retries {
  readonly #parts: RetryParts
  #failures = 0
  #sinceMs: number

  constructor(parts: RetryParts) {
    this.#parts = parts
    this.#sinceMs = parts.world.clock.monotonicMs()
  }

  /** Something was had: from here the budget counts anew. */
  progress(): void {
    this.#failures = 0
    this.#sinceMs = this.#parts.world.clock.monotonicMs()
  }

  /** Resolves to true when the next attempt may begin, to false where there shall be none. */
  async mayTryAgain(again: Again): Promise<boolean> {
    this.#failures += 1
    if (again === 'never' || (again === 'briefly' && this.#failures >= briefTries)) return false
    const { world, budgetMs, signal } = this.#parts
    const pauseMs = Math.min(firstPauseMs * 2 ** (this.#failures - 1), longestPauseMs) * this.#share()
    if (world.clock.monotonicMs() + pauseMs - this.#sinceMs > budgetMs) return false
    await world.timers.sleep(pauseMs, signal)
    return true
  }

  /** Between a half and one: who failed together does not come back together. */
  #share(): number {
    return 0.5 + parseInt(this.#parts.world.random.hex(4), 16) / 0x1_ffff
  }
}
