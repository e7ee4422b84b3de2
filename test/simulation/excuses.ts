import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'

/**
 * Writes that a client heard OK for and that need not be there. Nothing else may be missing:
 *
 * - `accepted`: a person forced a failover and accepted their loss. Counted are those that the new primary did not hold
 *   when that failover was committed.
 * - `by hand`: acknowledged while somebody had switched off what acknowledgements rest on, or thrown away by a
 *   statement before any agent had seen that (docs/why/safety.md, "What is not covered").
 */
export type Excuse = 'accepted' | 'by hand'

export class Excuses {
  readonly #excused = new Map<Excuse, GtidSet>()
  #all = GtidSet.empty
  /** A failover was forced, whether anything was lost by it or not. */
  isLossAccepted = false
  /**
   * Primaries whose writes needed no acknowledgement when a person had another one lead and accepted the loss, and the
   * epoch of that one. Nobody's promise but their own ends what they tell clients.
   */
  readonly deposed = new Map<InstanceName, number>()

  add(excuse: Excuse, writes: GtidSet): void {
    this.#excused.set(excuse, (this.#excused.get(excuse) ?? GtidSet.empty).union(writes))
    this.#all = this.#all.union(writes)
  }

  /** These writes without what is excused. */
  without(writes: GtidSet): GtidSet {
    return this.#all.isEmpty() ? writes : writes.subtract(this.#all)
  }
}
