import { RegentError } from '../../src/common/errors/errors.ts'
import { counted } from '../../src/common/text/words.ts'
import { rowsOf, whyNoTimeToUndo, type OpenChange } from '../../topology/snapshot/open-changes.ts'
import type { Parts } from '../instance/parts.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'

/** Between two looks at what is left to undo: InnoDB makes the table anew no sooner. */
const lookAgainMs = 100

/** Before anything is ended: ended and not undone in time, their work would be lost for a demotion that is undone. */
export function refuseWithoutTimeToUndo(changes: readonly OpenChange[], leftMs: number): void {
  const why = whyNoTimeToUndo(changes, leftMs)
  if (why !== null) throw new RegentError('REGENT_ORDER_NOT_ALLOWED', `demotion refused: ${why}`)
}

/**
 * Ends the transactions that have changed many rows, and waits until they are undone, while writes still flow: that
 * costs no outage. A statement that is being undone would hold up the closing of the server, and everybody behind that.
 * Transactions that become large meanwhile are left to the closing: under a load of them there would be no end.
 */
export async function undoLargeChanges(parts: Parts, deadlineMs: number): Promise<void> {
  const { server, world } = parts
  const remaining = (): number => deadlineMs - world.clock.monotonicMs()
  const doomed = await server.openChanges()
  if (doomed.length === 0) return
  refuseWithoutTimeToUndo(doomed, remaining())
  // One may have begun to wait for an acknowledgement since the look.
  await keepUnsettled(parts, 'switchover')
  const sessions = doomed.map(({ session }) => session)
  await server.killSessions(sessions)
  for (;;) {
    const left = (await server.openChanges()).filter(({ session }) => sessions.includes(session))
    if (left.length === 0) return
    if (remaining() <= lookAgainMs)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        `demotion undone before writes were stopped: ${counted(rowsOf(left), 'row')} of sessions that were ended are still to be undone. That goes on; try again after it`,
      )
    await world.timers.sleep(lookAgainMs)
  }
}
