import { counted } from '#common/text/words.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import { learn, notice, viewOf, type Change, type NextPass, type View } from '../instance/pass.ts'
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
      now: loss.change,
      steps: [notice('ReceivedThrownAway', loss.sentence)],
      next: 'at once',
    }
  )
}

/** The same for what a promise is about to report. */
export async function noticeThrownAway(parts: Parts, holds: GtidSet): Promise<void> {
  const loss = lossOf(viewOf(parts, null), holds)
  if (loss === null) return void (parts.doubts.seenToHold = holds.toString())
  await parts.file.update({ forgetful: true })
  learn(parts, loss.change, parts.process.pid)
  parts.notices.add('ReceivedThrownAway', loss.sentence)
}

function lossOf({ doubts }: Pick<View, 'doubts'>, holds: GtidSet): { change: Change; sentence: string } | null {
  const missing = parseGtidSet(doubts.seenToHold ?? '').subtract(holds)
  if (missing.isEmpty()) return null
  const what = `${counted(missing.count(), 'transaction')} that it held (${missing.toString().slice(0, 120)})`
  const were = missing.count() === 1 ? 'was' : 'were'
  return {
    change: {
      doubts: {
        seenToHold: holds.toString(),
        timesForgotten: doubts.timesForgotten + 1,
        thrownAway: parseGtidSet(doubts.thrownAway).union(missing).toString(),
      },
      told: { catchUpTo: null },
      // What is left in its relay logs is as it was received.
      life: { relayLogsDiscarded: true },
    },
    sentence: `${what} ${were} thrown away by another hand; until it holds them again it counts for nothing`,
  }
}
