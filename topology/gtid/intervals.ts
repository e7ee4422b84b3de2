import { distance, nextOf, previousOf, type GtidNumber } from './gtid-number.ts'

/**
 * Whole numbers as ordered, disjoint, never adjacent closed intervals in one flat array: from₀, to₀, from₁, to₁ … Flat,
 * because a set of 100,000 intervals then is one array of numbers instead of 100,000 objects; every operation walks its
 * operands once.
 */
export type Intervals = readonly GtidNumber[]

/** Past the end everything is beyond reach: loops need no bounds of their own. */
function at(intervals: Intervals, index: number): GtidNumber {
  return intervals[index] ?? Infinity
}

/** Appends an interval that begins no earlier than the last one does, joining the two where they touch. */
function append(to: GtidNumber[], from: GtidNumber, until: GtidNumber): void {
  const last = to.length - 1
  if (last < 0 || from > nextOf(at(to, last))) to.push(from, until)
  else if (until > at(to, last)) to[last] = until
}

/**
 * Pairs in any order, overlapping or not, made into `Intervals`. Linear where they are in order, as servers print them.
 */
export function intervalsOf(pairs: Intervals): Intervals {
  const merged: GtidNumber[] = []
  for (let index = 0; index < pairs.length; index += 2) {
    if (index > 0 && at(pairs, index) < at(pairs, index - 2)) return intervalsOf(sortedPairs(pairs))
    append(merged, at(pairs, index), at(pairs, index + 1))
  }
  return merged
}

function sortedPairs(pairs: Intervals): Intervals {
  const starts = Array.from({ length: pairs.length / 2 }, (_, index) => index * 2)
  starts.sort((left, right) => (at(pairs, left) < at(pairs, right) ? -1 : 1))
  return starts.flatMap((start) => [at(pairs, start), at(pairs, start + 1)])
}

export function unionOf(left: Intervals, right: Intervals): Intervals {
  const union: GtidNumber[] = []
  let l = 0
  let r = 0
  while (l < left.length || r < right.length) {
    if (at(left, l) <= at(right, r)) {
      append(union, at(left, l), at(left, l + 1))
      l += 2
    } else {
      append(union, at(right, r), at(right, r + 1))
      r += 2
    }
  }
  return union
}

/** What is in `left` and not in `right`. */
export function differenceOf(left: Intervals, right: Intervals): Intervals {
  const difference: GtidNumber[] = []
  let r = 0
  for (let l = 0; l < left.length; l += 2) {
    const until = at(left, l + 1)
    let from = at(left, l)
    while (at(right, r + 1) < from) r += 2
    while (from <= until && at(right, r) <= until) {
      if (at(right, r) > from) difference.push(from, previousOf(at(right, r)))
      from = nextOf(at(right, r + 1))
      // An interval that reaches beyond the present one may also cut the next.
      if (from <= until) r += 2
    }
    if (from <= until) difference.push(from, until)
  }
  return difference
}

export function intersectionOf(left: Intervals, right: Intervals): Intervals {
  const intersection: GtidNumber[] = []
  let l = 0
  let r = 0
  while (l < left.length && r < right.length) {
    const from = at(left, l) > at(right, r) ? at(left, l) : at(right, r)
    const until = at(left, l + 1) < at(right, r + 1) ? at(left, l + 1) : at(right, r + 1)
    if (from <= until) intersection.push(from, until)
    if (at(left, l + 1) < at(right, r + 1)) l += 2
    else r += 2
  }
  return intersection
}

/** Whether every number of `inner` is in `outer`. */
export function covers(outer: Intervals, inner: Intervals): boolean {
  let o = 0
  for (let i = 0; i < inner.length; i += 2) {
    while (at(outer, o + 1) < at(inner, i + 1)) o += 2
    if (at(outer, o) > at(inner, i)) return false
  }
  return true
}

export function sameIntervals(left: Intervals, right: Intervals): boolean {
  return left === right || (left.length === right.length && left.every((number, index) => number === right[index]))
}

/** Exact below 2⁵³. */
export function countOf(intervals: Intervals): number {
  let count = 0
  for (let index = 0; index < intervals.length; index += 2)
    count += distance(at(intervals, index), at(intervals, index + 1))
  return count
}
