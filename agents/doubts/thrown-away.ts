import { lifeOf } from '../instance/life.ts'
import { counted } from '../../src/common/text/words.ts'
import { parseGtidSet, type GtidSet } from '../../topology/gtid/gtid-set.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * A replica holds no less than before, unless somebody made it so: `CHANGE REPLICATION SOURCE TO` with both threads
 * stopped throws away what was received and not applied, and perhaps acknowledged. Such a replica has forgotten, like
 * one whose machine crashed: it counts in no quorum until it holds everything again.
 * @param holds all that it holds now
 */
export async function noticeThrownAway(parts: Parts, holds: GtidSet): Promise<void> {
  const { doubts, told, file, notices } = parts
  const missing = parseGtidSet(doubts.seenToHold ?? '').subtract(holds)
  doubts.seenToHold = holds.toString()
  if (missing.isEmpty()) return
  doubts.timesForgotten += 1
  told.catchUpTo = null
  doubts.thrownAway = parseGtidSet(doubts.thrownAway).union(missing).toString()
  // What is left in its relay logs is as it was received.
  lifeOf(parts).relayLogsDiscarded = true
  notices.add(
    'ReceivedThrownAway',
    `${counted(missing.count(), 'transaction')} that it held (${missing.toString().slice(0, 120)}) ${missing.count() === 1 ? 'was' : 'were'} thrown away by another hand; until it holds them again it counts for nothing`,
  )
  await file.update({ forgetful: true })
}
