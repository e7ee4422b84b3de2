import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Fact } from '../instance/facts.ts'
import { learn } from '../instance/learn.ts'
import { notice, viewOf, type NextPass, type View } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * A replica holds no less than before, unless somebody made it so: `CHANGE REPLICATION SOURCE TO` with both threads
 * stopped throws away what was received and not applied, and perhaps acknowledged. Such a replica has forgotten, like
 * one whose machine crashed: it counts in no quorum until it holds everything again.
 * @param holds all that it holds now
 * @returns null where it holds no less than before
 */
export function noticesLoss(view: Pick<View, 'doubts'>, holds: GtidSet): NextPass | null {
  const loss = lossOf(view, holds)
  return (
    loss && {
      store: { forgetful: true },
      now: [loss.seen],
      steps: [notice('ReceivedThrownAway', loss.sentence)],
      next: 'at once',
    }
  )
}

/** The same for what a promise is about to report. */
export async function noticeThrownAway(parts: Parts, holds: GtidSet): Promise<void> {
  const loss = lossOf(viewOf(parts, null), holds)
  if (loss === null) return learn(parts, { fact: 'holdsSeen', holds: holds.toString() })
  await parts.file.update({ forgetful: true })
  learn(parts, loss.seen)
  parts.notices.add('ReceivedThrownAway', loss.sentence)
}

function lossOf({ doubts }: Pick<View, 'doubts'>, holds: GtidSet): { seen: Fact; sentence: Sentence } | null {
  const missing = parseGtidSet(doubts.seenToHold ?? '').subtract(holds)
  if (missing.isEmpty()) return null
  const what = say`${counted(missing.count(), 'transaction')} that it held (${text(missing.toString().slice(0, 120))})`
  const were = missing.count() === 1 ? 'was' : 'were'
  return {
    seen: { fact: 'lossSeen', holds: holds.toString(), missing: missing.toString() },
    sentence: say`${what} ${were} thrown away by another hand; until they are here again this instance counts for nothing`,
  }
}
