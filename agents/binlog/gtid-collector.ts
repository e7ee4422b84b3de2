import { previousOf, type GtidNumber } from '#topology/gtid/gtid-number.ts'
import { parseIntervals } from '#topology/gtid/gtid-parser.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Intervals } from '#topology/gtid/intervals.ts'
import type { GtidParts } from '#binlog/events.ts'

/** Gathers transactions one by one; a run of consecutive numbers of one source, the usual case, costs one interval. */
export class GtidCollector {
  readonly #runs = new Map<string, GtidNumber[]>()

  add(gtid: GtidParts): void {
    const runs = this.#runs.get(gtid.source)
    if (runs === undefined) this.#runs.set(gtid.source, [gtid.number, gtid.number])
    else if (runs[runs.length - 1] === previousOf(gtid.number)) runs[runs.length - 1] = gtid.number
    else runs.push(gtid.number, gtid.number)
  }

  set(): GtidSet {
    const parts: string[] = []
    for (const [source, runs] of this.#runs) {
      parts.push(parts.length === 0 ? '' : ',', source)
      for (let index = 0; index < runs.length; index += 2) parts.push(`:${runs[index]}-${runs[index + 1]}`)
    }
    return GtidSet.parse(parts.join(''))
  }
}

/** Asks of one transaction after the other whether a set has it, without building a set for each. */
export class GtidMatcher {
  readonly #intervals: ReadonlyMap<string, Intervals>

  constructor(set: GtidSet) {
    this.#intervals = parseIntervals(set.toString())
  }

  has(gtid: GtidParts): boolean {
    const intervals = this.#intervals.get(gtid.source) ?? []
    let low = 0
    let high = intervals.length / 2
    while (low < high) {
      const middle = (low + high) >> 1
      if ((intervals[middle * 2 + 1] ?? Infinity) < gtid.number) low = middle + 1
      else high = middle
    }
    return (intervals[low * 2] ?? Infinity) <= gtid.number
  }
}

/** As MySQL prints one transaction's identifier. */
export function printGtid(gtid: GtidParts): string {
  return `${gtid.source}:${gtid.number}`
}
