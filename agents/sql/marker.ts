import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { literal, markerRows } from '../instance/accounts.ts'
import type { Row } from './connections/statements.ts'
import { errnoOf } from './connections/failure.ts'

/** `ER_LOCK_WAIT_TIMEOUT`. */
const lockTimeout = 1205

/**
 * Writes a marker, binary log on; resolves when it is acknowledged, however long that takes. The statement is never
 * ended: killed while it waits, it would commit unacknowledged. A marker of an earlier agent may still wait and hold
 * its row's lock: then another row is taken, since a newer write is what makes the waiting one be acknowledged
 * (docs/why/safety.md, "Changing the sync set"). The two slots take rows of their own.
 */
export async function writeMarker(
  query: (statement: string) => Promise<readonly Row[]>,
  token: string,
  slot: 1 | 2,
): Promise<void> {
  const half = markerRows / 2
  for (let turn = 0; turn < half; turn += 1) {
    try {
      await query(`UPDATE regent.marker SET token = ${literal(token)} WHERE id = ${(slot - 1) * half + turn}`)
      return
    } catch (error) {
      if (errnoOf(error) !== lockTimeout) throw error
    }
  }
  throw new RegentError('REGENT_SERVER_ERROR', say`all ${half} rows of regent.marker for slot ${slot} are locked`)
}
