import { GtidSet, parseGtidSet } from '../../topology/gtid/gtid-set.ts'

/** A set of writes as bits: bit n is the n-th write of the run. */
export type Writes = number

/** Room in the bits. */
export const mostWrites = 30

/** Every write of one run and its GTID; sets of writes as bits inside the model, as text outside of it. */
export class Ledger {
  readonly #gtids: GtidSet[] = []
  readonly #lastOf = new Map<string, number>()
  readonly #texts = new Map<Writes, string>([[0, '']])
  readonly #sets = new Map<string, Writes>([['', 0]])

  get size(): number {
    return this.#gtids.length
  }

  /**
   * A new transaction of one server. Numbers are never given twice: a server that lost some starts with a new uuid.
   */
  add(uuid: string): Writes {
    const number = (this.#lastOf.get(uuid) ?? 0) + 1
    this.#lastOf.set(uuid, number)
    this.#gtids.push(GtidSet.single(uuid, number))
    return 1 << (this.size - 1)
  }

  textOf(writes: Writes): string {
    const known = this.#texts.get(writes)
    if (known !== undefined) return known
    const set = this.#gtids.reduce((all, gtid, index) => ((writes >> index) & 1 ? all.union(gtid) : all), GtidSet.empty)
    this.#texts.set(writes, set.toString())
    this.#sets.set(set.toString(), writes)
    return set.toString()
  }

  writesIn(text: string): Writes {
    const known = this.#sets.get(text)
    if (known !== undefined) return known
    const set = parseGtidSet(text)
    const writes = this.#gtids.reduce((bits, gtid, index) => (set.contains(gtid) ? bits | (1 << index) : bits), 0)
    this.#sets.set(text, writes)
    return writes
  }
}

/** The first write of `writes` in the order of the binlog, as a set of one; 0 for none. */
export function firstOf(writes: Writes): Writes {
  return writes & -writes
}

export function countOf(writes: Writes): number {
  let left = writes
  let count = 0
  while (left !== 0) {
    left &= left - 1
    count += 1
  }
  return count
}

export function isWithin(some: Writes, all: Writes): boolean {
  return (some & ~all) === 0
}
