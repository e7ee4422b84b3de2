import { recoveriesKept, type ClusterNotes, type Recovery } from '#failover/protocol/notes.ts'
import { codeOf } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Cells } from './cells.ts'
import { parseRecoveries, printRecoveries } from './wire.ts'

/**
 * The recoveries of a cluster as they are stored. `revision` is that of their cell, 0 for none; null where nothing may
 * be written over it.
 */
export interface StoredRecoveries {
  readonly recoveries: readonly Recovery[]
  readonly revision: number | null
}

/**
 * Reads them. They are history, and nothing is decided by them: those that are damaged begin anew with the next
 * recovery, and those of a newer Regent are left alone, as is what somebody else stored under their name.
 */
export async function readRecoveries(cells: Cells, cluster: string, signal: AbortSignal): Promise<StoredRecoveries> {
  try {
    const cell = await cells.read(`recoveries.${cluster}`, signal)
    return cell === undefined
      ? { recoveries: [], revision: 0 }
      : { recoveries: recoveriesIn(cell.text, say`${cells.place}: recoveries of ${cluster}`), revision: cell.revision }
  } catch (error) {
    if (codeOf(error) === 'REGENT_NEWER_VERSION') return { recoveries: [], revision: null }
    if (codeOf(error) !== 'REGENT_BAD_FILE') throw error
    const isRemoved = await cells.remove(`recoveries.${cluster}`, signal)
    return { recoveries: [], revision: isRemoved ? 0 : null }
  }
}

function recoveriesIn(text: string, where: Sayable): readonly Recovery[] {
  try {
    return parseRecoveries(text, where)
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_FILE') throw error
    return []
  }
}

/** Over those of that revision. False when somebody wrote meanwhile. */
export async function writeRecoveries(
  cells: Cells,
  cluster: string,
  { recoveries, revision }: StoredRecoveries,
  signal: AbortSignal,
): Promise<boolean> {
  if (revision === null) return true
  const next = { revision: revision + 1, text: printRecoveries(recoveries, say`next recoveries of ${cluster}`) }
  return cells.swap(`recoveries.${cluster}`, revision, next, signal)
}

/**
 * Each once, the newest first: older managers keep theirs in the notes themselves, and an update that was tried again
 * has written its own already.
 */
export function joined(inNotes: readonly Recovery[], apart: readonly Recovery[]): readonly Recovery[] {
  const all = new Map([...inNotes, ...apart].toReversed().map((recovery) => [recovery.id, recovery]))
  return [...all.values()].toReversed().slice(0, recoveriesKept)
}

/** The same but for recoveries. */
export function isSameApart(one: ClusterNotes, other: ClusterNotes): boolean {
  return JSON.stringify({ ...one, recoveries: [] }) === JSON.stringify({ ...other, recoveries: [] })
}
