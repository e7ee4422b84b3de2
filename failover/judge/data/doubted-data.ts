import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'

/** What an instance says of itself for which its data may be others than its GTIDs say. */
const doubts = [
  ['binlogOff', say`it ran without a binary log and has not been seeded since`],
  ['gtidsGiven', say`another hand gave it GTIDs that it never executed, and it has not been seeded since`],
  ['gtidsReset', say`its GTIDs were reset by another hand and it has not been seeded since`],
  ['fromThePast', say`its volume went back in time and it has not been seeded since`],
  ['filterSeen', say`it has had a replication filter`],
  ['opened', say`it was open for writes while it was no primary and has not been seeded since`],
] as const

type Doubted = Pick<StoredSummary, (typeof doubts)[number][0]>

/**
 * Why its data may be others than its GTIDs say; null where nothing speaks for that. Only a copy of another instance
 * ends it.
 */
export function whyDoubted(stored: Doubted): Sentence | null {
  return doubts.find(([of]) => stored[of] === true)?.[1] ?? null
}

export function hasDoubtedData(stored: Doubted): boolean {
  return whyDoubted(stored) !== null
}

/**
 * Why an instance may hold less than its GTIDs say where there is no record that names the primary; null where nothing
 * speaks for that. A former primary forgets nothing: its binlog was synced before anybody acknowledged.
 */
export function whyDoubtedWithoutRecord(stored: StoredSummary): Sentence | null {
  if (stored.seeding) return say`it began to be seeded and holds nothing that counts`
  const forgot = stored.forgetful && stored.assignment?.role !== 'primary'
  return whyDoubted(stored) ?? (forgot ? say`it may have forgotten what it received` : null)
}
