import { say } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Reads in the binlogs whether what is errant here changed no data (FLUSH, ANALYZE, OPTIMIZE): then an empty
 * transaction at the primary cures that, and nothing is copied.
 * @param judged called once that is known
 */
export async function judgeErrant(
  parts: Learner & Pick<Parts, 'volume' | 'notices'>,
  judged: () => void,
): Promise<void> {
  const { told } = parts
  const of = told.errant
  if (of === '' || told.errantJudged?.of === of) return
  const changesNothing = await isWithoutEffect(parts, of)
  // More is errant by now, and is read by itself: what is known of that must not give way to what is known of less.
  if (told.errant !== of) return
  learn(parts, { fact: 'errantJudged', of, changesNothing })
  judged()
}

/** What cannot be read is taken for a change of data, and said. */
async function isWithoutEffect({ volume, notices }: Pick<Parts, 'volume' | 'notices'>, of: GtidText): Promise<boolean> {
  try {
    return parseGtidSet(await volume.withoutEffect(of)).contains(parseGtidSet(of))
  } catch (error) {
    notices.failed('ErrantNotRead', say`the binlogs do not tell whether errant transactions changed data`, error)
    return false
  }
}
