import { counted } from '#common/text/words.ts'

/** A transaction of somebody's session that has changed many rows and is not committed. */
export interface OpenChange {
  /** Its id in the process list. */
  readonly session: number
  readonly user: string
  /** To be undone if the session is ended; while it rolls back, what is left of that. */
  readonly rows: number
}

/** With fewer, a session that is ended is gone before anybody notices. */
export const manyRows = 10_000

/**
 * InnoDB undoes row after row in the thread of the session. Seen on 9.7.4: 13,000 rows a second with two busy cores,
 * ten times as many on an idle machine. The lower number decides: who waits too short a time loses the transaction for
 * nothing.
 */
const undoneRowsPerSecond = 10_000

/** How long it takes until all of them are undone, at worst. Sessions undo beside each other, and share the disk. */
export function undoMs(changes: readonly OpenChange[]): number {
  return Math.ceil((rowsOf(changes) / undoneRowsPerSecond) * 1_000)
}

export function rowsOf(changes: readonly OpenChange[]): number {
  return changes.reduce((sum, { rows }) => sum + rows, 0)
}

/** `session 21 of client has changed 140000 rows`, of each. */
export function describeChanges(changes: readonly OpenChange[]): string {
  return changes
    .map(({ session, user, rows }) => `session ${session} of ${user} has changed ${counted(rows, 'row')}`)
    .join(', ')
}

/**
 * What speaks against ending these sessions, with the time that it would take; null where `leftMs` is enough. Ended and
 * not undone in time, their work would be lost for nothing.
 */
export function whyNoTimeToUndo(changes: readonly OpenChange[], leftMs: number): string | null {
  const needs = undoMs(changes)
  if (needs <= leftMs) return null
  const within = `there ${Math.floor(leftMs / 1_000) === 1 ? 'is' : 'are'} ${Math.floor(leftMs / 1_000)} s for that`
  return `${describeChanges(changes)} and not committed; undoing takes up to ${Math.ceil(needs / 1_000)} s, and ${within}`
}
