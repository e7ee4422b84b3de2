import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'

/**
 * The mark on disk that a primary may have acknowledged what no replica holds, and its end. Doubt wins over proof: what
 * was proven before a doubt says nothing about it. So a proof names how many doubts there were when it began, and a
 * doubt is written behind a proof whose write is under way, also where the mark still stands because of that.
 */

/** To be remembered by whoever begins to prove something (`settle`). */
export function doubtsOf({ memory }: Parts): number {
  return memory.doubts
}

/** Resolves once the mark is on disk; true where it was not there before, or was about to go. */
export async function keepUnsettled({ memory, file }: Parts): Promise<boolean> {
  memory.doubts += 1
  const isNews = !file.current.unsettled || memory.settling > 0
  if (isNews) await file.update({ unsettled: true })
  return isNews
}

/**
 * Takes the mark away, together with what else changes, if nothing was doubted since.
 * @param doubts as many as there were when the proof began
 */
export async function settle(parts: Parts, doubts: number, change: Partial<StoredState> = {}): Promise<void> {
  const { memory, file } = parts
  const proven = doubts === memory.doubts
  if (proven) memory.settling += 1
  try {
    await file.update({ ...change, ...(proven ? { unsettled: false } : {}) })
  } finally {
    if (proven) memory.settling -= 1
  }
}
