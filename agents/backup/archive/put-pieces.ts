import type { ObjectStore } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'

/** So often the store is asked whether its listing shows what was put there. */
const lookMs = 60_000
/** Two looks at the whole archive count as two where so much is between them: a listing may be late for a moment. */
const apartMs = 30_000

/**
 * What this agent has put into the archive in one epoch, whatever the listing of the store shows. A store that was put
 * back to an earlier state has lost what was shipped after that, and a cache before a store may hold back the newest
 * objects. What two looks in a row do not show is shipped anew, once: a listing that does not show that either will
 * show no third one.
 */
export class PutPieces {
  #place = ''
  #gtids = GtidSet.empty
  #newestKey = ''
  /** The newest at the last look: what was put back to a time before now lacks that one. */
  #witness = ''
  #lookedAtMs = -Infinity
  #comparedAtMs = -Infinity
  #missed = GtidSet.empty
  /** What is to be shipped anew, and what of that was. */
  #asked = GtidSet.empty
  #anew = GtidSet.empty
  #isInVain = false

  /** From now on of that epoch and store; what was known of another one is forgotten. */
  begin(place: string): void {
    if (place === this.#place) return
    this.#place = place
    this.#forgetLooks()
    this.#gtids = GtidSet.empty
    this.#newestKey = ''
  }

  /** One more is in the store. */
  add(gtids: GtidSet, key: string): void {
    this.#gtids = this.#gtids.union(gtids)
    this.#newestKey = key
    this.#anew = this.#anew.union(gtids.intersect(this.#asked))
  }

  /** What the store has, whether or not its listing shows that: all but what is to be shipped anew. */
  get trusted(): GtidSet {
    return this.#gtids.subtract(this.#asked.subtract(this.#anew))
  }

  /** What the last look did not show. */
  get notShown(): GtidSet {
    return this.#missed
  }

  /** Whether the last look did not show what had been shipped anew. */
  get isInVain(): boolean {
    return this.#isInVain
  }

  /** Whether the archive is to be read again: the listing does not show all. Asks the store for one key. */
  async isToBeRead(store: Pick<ObjectStore, 'list'>, nowMs: number): Promise<boolean> {
    if (nowMs - this.#lookedAtMs < lookMs) return false
    this.#lookedAtMs = nowMs
    if (!this.#missed.isEmpty()) return true
    const isShown = this.#witness === '' || (await isListed(store, this.#witness))
    this.#witness = this.#newestKey
    return !isShown
  }

  /**
   * Holds what a whole look has found against what was put. @param found all that needs not be shipped any more
   * @returns what is to be shipped anew from now on
   */
  compare(found: GtidSet, nowMs: number): GtidSet {
    const missing = this.#gtids.subtract(found)
    if (missing.isEmpty()) return this.#forgetLooks()
    if (nowMs - this.#comparedAtMs < apartMs) return GtidSet.empty
    this.#comparedAtMs = nowMs
    const wasMissed = this.#missed
    this.#missed = missing
    this.#asked = this.#asked.intersect(missing)
    this.#anew = this.#anew.intersect(missing)
    this.#isInVain = !this.#anew.isEmpty()
    // A listing that does not show what was shipped anew shows nothing else that is.
    const again = this.#isInVain ? GtidSet.empty : missing.intersect(wasMissed).subtract(this.#asked)
    this.#asked = this.#asked.union(again)
    return again
  }

  #forgetLooks(): GtidSet {
    this.#missed = GtidSet.empty
    this.#asked = GtidSet.empty
    this.#anew = GtidSet.empty
    this.#isInVain = false
    this.#witness = ''
    return GtidSet.empty
  }
}

async function isListed(store: Pick<ObjectStore, 'list'>, wanted: string): Promise<boolean> {
  for await (const { key } of store.list(wanted)) if (key === wanted) return true
  return false
}
