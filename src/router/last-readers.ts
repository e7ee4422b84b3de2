import { silentSourceMs } from '#topology/snapshot/replicating.ts'
import type { WhereTo } from './where-to.ts'

/**
 * Remembers which instances were not late while the primary was known last. Without a primary nobody can follow, and a
 * replica that followed nobody before lacks what was written since then.
 */
export class LastReaders {
  readonly #freshMs = new Map<string, number>()
  #primaryMs: number | undefined

  /** Notes where sessions are led now. Without a primary nothing is learnt. */
  note({ write, reads }: Pick<WhereTo, 'write' | 'reads'>, nowMs: number): void {
    if (write === null) return
    this.#primaryMs = nowMs
    for (const { name, state } of reads) if (state === 'open' || name === write.name) this.#freshMs.set(name, nowMs)
    for (const name of this.#freshMs.keys()) if (!reads.some((one) => one.name === name)) this.#freshMs.delete(name)
  }

  /**
   * Instances that lack at most what was written in `maxLagMs` before the primary was known last, or in the time in
   * which nobody notices a silent source; undefined where no primary was known yet.
   */
  names(maxLagMs: number): ReadonlySet<string> | undefined {
    if (this.#primaryMs === undefined) return undefined
    const fromMs = this.#primaryMs - Math.max(maxLagMs, silentSourceMs)
    return new Set([...this.#freshMs].flatMap(([name, atMs]) => (atMs >= fromMs ? [name] : [])))
  }
}
