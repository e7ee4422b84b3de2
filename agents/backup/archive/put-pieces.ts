import type { ObjectStore } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'

/** The time between two questions whether the store's listing shows what was put there. */
const lookMs = 60_000
/** Two looks at the whole archive count as two only with so much time between: a listing may be late for a moment. */
const apartMs = 30_000

/**
 * The pieces that this agent has put into the archive in one epoch, whatever the store's listing shows. A store that
 * was put back to an earlier state has lost later pieces. A cache before a store may hold back the newest objects.
 * Pieces that two looks in a row do not show are shipped anew, once. A listing that does not show the second copy would
 * show no third one.
 */
export class PutPieces {
  #place = ''
  #gtids = GtidSet.empty
  #newestKey = ''
  /** The newest key at the last look: a store that was put back since lacks this key. */
  #witness = ''
  #lookedAtMs = -Infinity
  #comparedAtMs = -Infinity
  #missed = GtidSet.empty
  /** Transactions to be shipped anew; below, those of them that were shipped. */
  #asked = GtidSet.empty
  #anew = GtidSet.empty
  #isInVain = false

  /** Begins with an epoch and a store. All knowledge of another epoch or store is forgotten. */
  begin(place: string): void {
    if (place === this.#place) return
    this.#place = place
    this.#forgetLooks()
    this.#gtids = GtidSet.empty
    this.#newestKey = ''
  }

  /** Notes a piece that is in the store. */
  add(gtids: GtidSet, key: string): void {
    this.#gtids = this.#gtids.union(gtids)
    this.#newestKey = key
    this.#anew = this.#anew.union(gtids.intersect(this.#asked))
  }

  /** Transactions that the store has, also where its listing does not show them; without those to be shipped anew. */
  get trusted(): GtidSet {
    return this.#gtids.subtract(this.#asked.subtract(this.#anew))
  }

  /** Transactions that the last look did not show. */
  get notShown(): GtidSet {
    return this.#missed
  }

  /** Whether the last look did not show transactions that were shipped anew. */
  get isInVain(): boolean {
    return this.#isInVain
  }

  /** Whether the archive is to be read again, since the listing does not show all. Asks the store for one key. */
  async isToBeRead(store: Pick<ObjectStore, 'list'>, nowMs: number): Promise<boolean> {
    if (nowMs - this.#lookedAtMs < lookMs) return false
    this.#lookedAtMs = nowMs
    if (!this.#missed.isEmpty()) return true
    const isShown = this.#witness === '' || (await isListed(store, this.#witness))
    this.#witness = this.#newestKey
    return !isShown
  }

  /**
   * Compares the result of a whole look with what was put. @param found all that needs not be shipped any more
   * @returns the transactions to be shipped anew from here on
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
    // A listing that does not show the second copies does not show other pieces that are there.
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
