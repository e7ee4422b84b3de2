import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { GtidSet } from '../gtid/gtid-set.ts'
import { parseGtidSet } from '../gtid/gtid-set.ts'
import { holdsOf } from './holdings.ts'
import type { Observation } from './observation.ts'

/** What an instance has received and not executed yet, by one look. A primary applies all of that before it opens. */
export function leftToApply(seen: Observation): GtidSet {
  return holdsOf(seen).subtract(parseGtidSet(seen.server?.executed ?? ''))
}

/**
 * `it is elected and applies 12345 transactions before it takes writes, for 8 s`; null for a primary that does not
 * open.
 */
export function describeOpening(seen: Observation): Sentence | null {
  if (seen.openingMs === undefined) return null
  const left = leftToApply(seen).count()
  const does = left === 0 ? 'opens' : say`applies ${counted(left, 'transaction')} before it takes writes`
  return say`is elected and ${does}, for ${Math.floor(seen.openingMs / 1_000)} s`
}
