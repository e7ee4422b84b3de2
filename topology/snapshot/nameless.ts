import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { StoredSummary } from './observation.ts'

/**
 * Why nobody can tell by its GTIDs what an instance holds, as words that go on after its name; null where they tell. A
 * server without a binary log gives what it commits no GTID.
 */
export function whyNameless({
  gtidsReset,
  binlogOff,
  gtidsGiven,
}: Pick<StoredSummary, 'gtidsReset' | 'binlogOff' | 'gtidsGiven'>): Sentence | null {
  if (gtidsReset !== true) return null
  if (binlogOff === true) return say`ran without a binary log, so that what it committed has no GTID`
  return gtidsGiven === true
    ? say`was given GTIDs by another hand (SET gtid_next, SET GLOBAL gtid_purged), so that nobody can tell what it holds`
    : say`has had its GTIDs reset by another hand (RESET BINARY LOGS AND GTIDS), so that nobody can tell what it holds`
}
