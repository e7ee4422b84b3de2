import { counted, joined, say, type Said, type Sentence } from '#common/sentence/sentence.ts'

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
function describeChanges(changes: readonly OpenChange[]): Said {
  return joined(
    changes.map(({ session, user, rows }) => say`session ${session} of ${user} has changed ${counted(rows, 'row')}`),
    ', ',
  )
}

/**
 * What speaks against ending these sessions, with the time that it would take; null where `leftMs` is enough. Ended and
 * not undone in time, their work would be lost for nothing.
 */
export function whyNoTimeToUndo(changes: readonly OpenChange[], leftMs: number): Sentence | null {
  const needs = undoMs(changes)
  if (needs <= leftMs) return null
  const seconds = Math.floor(leftMs / 1_000)
  const within = say`there ${seconds === 1 ? say`is` : say`are`} ${seconds} s for that`
  return say`${describeChanges(changes)} and not committed; undoing takes up to ${Math.ceil(needs / 1_000)} s, and ${within}`
}
