import type { Timer, Timers } from '#common/ports/ports.ts'
import { oneAtATime } from './one-at-a-time.ts'

/**
 * How often a manager that leads looks at the store, whatever it hears: another one that believed the same may have
 * written there last, with nobody to tell of that. Up to a fifth more or less often, as the cluster's name has it: a
 * manager takes the lead of hundreds of clusters in one moment, and is not to read all of their records in one.
 */
export const regularLookMs = 30_000
const spread = 0.2

/**
 * A leader's commit is a moment in which store and processor belong to what it does next: one that follows can wait.
 */
export const followerReadsAfterMs = 1_000

interface StoreLooksPorts {
  readonly timers: Timers
  readonly cluster: string
  /** Takes over what is in the store. */
  readonly look: () => Promise<void>
  readonly failed: (error: unknown) => void
}

/** Looks at the store besides those that a decision waits for: one at a time. */
export class StoreLooks {
  readonly #ports: StoreLooksPorts
  #regular: Timer | null = null

  constructor(ports: StoreLooksPorts) {
    this.#ports = ports
  }

  /** Also where another manager leads: what this manager shows is to be what is so. */
  readonly soon = oneAtATime(
    async (afterMs: number = 0) => {
      if (afterMs > 0) await this.#ports.timers.sleep(afterMs)
      await this.#ports.look()
    },
    (error) => this.#ports.failed(error),
  )

  /** Whether the regular ones are wanted. */
  regularly(wanted: boolean): void {
    if (wanted === (this.#regular !== null)) return
    this.#regular?.cancel()
    const { timers, cluster } = this.#ports
    this.#regular = wanted ? timers.every(lookMsOf(cluster), () => void this.soon()) : null
  }
}

/** Nothing random: the same for the same name. */
function lookMsOf(cluster: string): number {
  const share = [...cluster].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000, 0) / 1_000
  return Math.round(regularLookMs * (1 - spread + 2 * spread * share))
}
