import { RegentError } from '#common/errors/errors.ts'
import { counted, say } from '#common/sentence/sentence.ts'
import { rowsOf, whyNoTimeToUndo, type OpenChange } from '#topology/snapshot/open-changes.ts'
import type { Parts } from '../instance/parts.ts'

/** Between two looks at what is left to undo: InnoDB makes the table anew no sooner. */
const lookAgainMs = 100

/** Before anything is ended: ended and not undone in time, their work would be lost for a demotion that is undone. */
export function refuseWithoutTimeToUndo(changes: readonly OpenChange[], leftMs: number): void {
  const why = whyNoTimeToUndo(changes, leftMs)
  if (why !== null) throw new RegentError('REGENT_ORDER_NOT_ALLOWED', say`demotion refused: ${why}`)
}

/** What runs long gets its grace while writes still flow: it costs no outage. */
export async function giveGrace({ server, world }: Pick<Parts, 'server' | 'world'>, graceMs: number): Promise<void> {
  const until = world.clock.monotonicMs() + graceMs
  while ((await server.busySessions()) > 0 && world.clock.monotonicMs() < until) {
    await world.timers.sleep(Math.min(20, graceMs))
  }
}

/**
 * Ends the transactions that have changed many rows, and waits until they are undone, while writes still flow: that
 * costs no outage. A statement that is being undone would hold up the closing of the server, and everybody behind that.
 * Transactions that become large meanwhile are left to the closing: under a load of them there would be no end.
 *
 * @param beforeEnding what is to be on disk before a session is ended
 */
export async function undoLargeChanges(
  { server, world }: Pick<Parts, 'server' | 'world'>,
  deadlineMs: number,
  beforeEnding: () => Promise<unknown>,
): Promise<void> {
  const remaining = (): number => deadlineMs - world.clock.monotonicMs()
  const doomed = await server.openChanges()
  if (doomed.length === 0) return
  refuseWithoutTimeToUndo(doomed, remaining())
  await beforeEnding()
  const sessions = doomed.map(({ session }) => session)
  await server.killSessions(sessions)
  for (;;) {
    const left = (await server.openChanges()).filter(({ session }) => sessions.includes(session))
    if (left.length === 0) return
    const rows = counted(rowsOf(left), 'row')
    if (remaining() <= lookAgainMs)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`demotion undone before writes were stopped: ${rows} of sessions that were ended are still to be undone. That goes on; try again after it`,
      )
    await world.timers.sleep(lookAgainMs)
  }
}
