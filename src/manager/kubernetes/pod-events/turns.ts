import { LruMap } from '#controller-runtime/events/lru-map.ts'

/** So many keys that have more than a turn takes are remembered. */
const mostKeys = 4_096

/**
 * Takes a part of what is open for a key, and the next part the next time: what stays open, however often it was looked
 * at, does not keep the rest from its turn.
 */
export class Turns<Item> {
  readonly #most: number
  /** How many at the beginning had their turn and stay open. */
  readonly #passed = new LruMap<string, number>(mostKeys)

  constructor(most: number) {
    this.#most = most
  }

  next(key: string, open: readonly Item[]): readonly Item[] {
    if (open.length <= this.#most) {
      this.#passed.set(key, 0)
      return open
    }
    const from = this.#from(key, open.length)
    this.#passed.set(key, from)
    return [...open.slice(from), ...open.slice(0, from)].slice(0, this.#most)
  }

  /** @param left how many of the last turn stay open */
  over(key: string, left: number): void {
    this.#passed.set(key, (this.#passed.get(key) ?? 0) + left)
  }

  #from(key: string, count: number): number {
    return (this.#passed.get(key) ?? 0) % count
  }
}
