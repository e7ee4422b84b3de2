import { nextOf, type GtidNumber } from './gtid-number.ts'
import { parseIntervals, type GtidSource } from './gtid-parser.ts'
import { countOf, covers, differenceOf, intersectionOf, sameIntervals, unionOf, type Intervals } from './intervals.ts'

type IntervalsBySource = ReadonlyMap<GtidSource, Intervals>

/**
 * An immutable set of global transaction identifiers. Every operation walks its operands once; what an operation leaves
 * unchanged is shared.
 *
 * Transaction numbers are exact up to MySQL's own limit, 2⁶³ − 2: anybody may use the largest with `SET gtid_next`.
 */
export class GtidSet {
  static readonly empty = new GtidSet(new Map())

  /** In the order of their sources; none is empty. */
  readonly #intervals: IntervalsBySource
  #text: string | undefined

  private constructor(intervals: IntervalsBySource) {
    this.#intervals = intervals
  }

  /** Throws `REGENT_BAD_GTID_SET`, naming the piece that is wrong and its position. '' is the empty set. */
  static parse(text: string): GtidSet {
    const intervals = parseIntervals(text)
    return intervals.size === 0 ? GtidSet.empty : new GtidSet(intervals)
  }

  /** The set of one transaction. Throws `REGENT_BAD_GTID_SET` like `parse`. */
  static single(uuid: string, number: GtidNumber, tag = ''): GtidSet {
    return GtidSet.parse(`${uuid}${tag === '' ? '' : `:${tag}`}:${number}`)
  }

  /**
   * The set of all transactions of a source between two numbers, without a text in between: for many sets. Throws
   * nothing: the caller knows that `uuid` or `uuid:tag` and the numbers are possible.
   */
  static range(source: string, from: GtidNumber, to: GtidNumber): GtidSet {
    return new GtidSet(new Map([[source.toLowerCase(), [from, to]]]))
  }

  union(other: GtidSet): GtidSet {
    if (other.isEmpty() || other === this) return this
    if (this.isEmpty()) return other
    const joined = new Map(this.#intervals)
    for (const [source, intervals] of other.#intervals) {
      const own = joined.get(source)
      joined.set(source, own === undefined ? intervals : unionOf(own, intervals))
    }
    return new GtidSet(joined.size === this.#intervals.size ? joined : inOrder(joined))
  }

  /** What is in this set and not in the other. */
  subtract(other: GtidSet): GtidSet {
    return this.#mapEach((intervals, source) => {
      const theirs = other.#intervals.get(source)
      return theirs === undefined ? intervals : differenceOf(intervals, theirs)
    })
  }

  intersect(other: GtidSet): GtidSet {
    return this.#mapEach((intervals, source) => intersectionOf(intervals, other.#intervals.get(source) ?? []))
  }

  /** The set without everything that a server issued, tagged or not. */
  withoutSource(uuid: string): GtidSet {
    const server = uuid.toLowerCase()
    return this.#mapEach((intervals, source) => (uuidOf(source) === server ? [] : intervals))
  }

  /** Whether every transaction of the other set is in this set. */
  contains(other: GtidSet): boolean {
    if (other === this) return true
    for (const [source, intervals] of other.#intervals) {
      if (!covers(this.#intervals.get(source) ?? [], intervals)) return false
    }
    return true
  }

  /** The same for all transactions of a source, `uuid` or `uuid:tag`, between two numbers. */
  containsRange(source: string, from: GtidNumber, to: GtidNumber): boolean {
    return covers(this.#intervals.get(source.toLowerCase()) ?? [], [from, to])
  }

  equals(other: GtidSet): boolean {
    if (other === this) return true
    if (other.#intervals.size !== this.#intervals.size) return false
    for (const [source, intervals] of other.#intervals) {
      if (!sameIntervals(this.#intervals.get(source) ?? [], intervals)) return false
    }
    return true
  }

  isEmpty(): boolean {
    return this.#intervals.size === 0
  }

  /** Whether it has more transactions; exact however many they are, unless each has 2⁵³ that the other lacks. */
  isLargerThan(other: GtidSet): boolean {
    return this.subtract(other).count() > other.subtract(this).count()
  }

  /** Each GTID of the set, as MySQL prints it: as many as `count()`. */
  *each(): Generator<string> {
    for (const [source, intervals] of this.#intervals)
      for (let index = 0; index < intervals.length; index += 2)
        for (let number = intervals[index] ?? 0; number <= (intervals[index + 1] ?? 0); number = nextOf(number))
          yield `${source}:${number}`
  }

  /** Number of transactions; exact below 2⁵³. */
  count(): number {
    let count = 0
    for (const intervals of this.#intervals.values()) count += countOf(intervals)
    return count
  }

  /** The largest transaction number of `uuid` or `uuid:tag`, in any case; 0 where there is none. */
  last(uuidAndTag: string): GtidNumber {
    return this.#intervals.get(uuidAndTag.toLowerCase())?.at(-1) ?? 0
  }

  /** As MySQL prints it, without white space: `uuid:1-3:5:tag:1-2,uuid:7`. */
  toString(): string {
    this.#text ??= print(this.#intervals)
    return this.#text
  }

  #mapEach(change: (intervals: Intervals, source: GtidSource) => Intervals): GtidSet {
    const changed = new Map<GtidSource, Intervals>()
    for (const [source, intervals] of this.#intervals) {
      const left = change(intervals, source)
      if (left.length > 0) changed.set(source, left)
    }
    return changed.size === 0 ? GtidSet.empty : new GtidSet(changed)
  }
}

function uuidOf(source: GtidSource): string {
  const colon = source.indexOf(':')
  return colon === -1 ? source : source.slice(0, colon)
}

function inOrder(intervals: IntervalsBySource): IntervalsBySource {
  return new Map([...intervals].sort(([left], [right]) => (left < right ? -1 : 1)))
}

function print(intervalsBySource: IntervalsBySource): string {
  const parts: string[] = []
  let printedUuid = ''
  for (const [source, intervals] of intervalsBySource) {
    const uuid = uuidOf(source)
    if (uuid !== printedUuid) parts.push(parts.length === 0 ? '' : ',', uuid)
    parts.push(source.slice(uuid.length))
    printIntervals(intervals, parts)
    printedUuid = uuid
  }
  return parts.join('')
}

function printIntervals(intervals: Intervals, parts: string[]): void {
  for (let index = 0; index < intervals.length; index += 2) {
    const from = String(intervals[index])
    const to = String(intervals[index + 1])
    parts.push(from === to ? `:${from}` : `:${from}-${to}`)
  }
}

/** An entry costs memory even where its text is short. */
const entryCharacters = 500
/** So many characters make a generation. Two generations are remembered. */
const generationCharacters = 2_000_000
let young = new Map<string, GtidSet>()
let old = new Map<string, GtidSet>()
let youngCharacters = 0

/**
 * Like `GtidSet.parse`, remembering the results used last: the same texts arrive with every observation. A text that is
 * found in the young generation changes nothing: most are.
 */
export function parseGtidSet(text: string): GtidSet {
  const known = young.get(text)
  if (known !== undefined) return known
  const set = old.get(text) ?? GtidSet.parse(text)
  remember(text, set)
  return set
}

function remember(text: string, set: GtidSet): void {
  const characters = text.length + entryCharacters
  if (characters > generationCharacters) return
  if (youngCharacters + characters > generationCharacters) {
    old = young
    young = new Map()
    youngCharacters = 0
  }
  young.set(text, set)
  youngCharacters += characters
}
