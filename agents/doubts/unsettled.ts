import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'

/**
 * The mark on disk that a primary may have acknowledged what no replica holds, and its end. Doubt wins over proof: what
 * was proven before a doubt says nothing about it. So a proof names how many doubts there were when it began, and a
 * doubt is written behind a proof whose write is under way, also where the mark still stands because of that.
 */

/** Parts that keep a doubt. */
export type DoubtParts = Learner & Pick<Parts, 'file'>

/** To be remembered by whoever begins to prove something (`settle`). */
export function doubtsOf({ doubts }: Pick<Parts, 'doubts'>): number {
  return doubts.raised
}

/** By the mark on disk, or a doubt that is not on disk yet. */
export function isUnsettled(
  stored: Pick<StoredState, 'unsettled'>,
  { doubts }: { readonly doubts: Pick<Parts['doubts'], 'unkept'> },
): boolean {
  return stored.unsettled || doubts.unkept > 0
}

/**
 * Resolves once the mark is on disk; true where it was not there before, or was about to go. Shown at once.
 * @param unsettledBy why, where that was an order
 */
export async function keepUnsettled(parts: DoubtParts, unsettledBy?: 'switchover'): Promise<boolean> {
  const { doubts, file } = parts
  learn(parts, { fact: 'doubted', isOrdered: unsettledBy !== undefined })
  const { raised } = doubts
  const isNews = !file.current.unsettled || doubts.settling > 0
  // Any other reason replaces an order.
  if (isNews || (unsettledBy === undefined && file.current.unsettledBy !== undefined))
    await file.update({ unsettled: true, unsettledBy })
  learn(parts, { fact: 'doubtsKept', raised })
  return isNews
}

/**
 * Takes the mark away, together with what else changes, if nothing was doubted since.
 * @param raised as many doubts as there were when the proof began
 */
export async function settle(parts: DoubtParts, raised: number, change: Partial<StoredState> = {}): Promise<void> {
  const { doubts, file } = parts
  const proven = raised === doubts.raised
  if (proven) learn(parts, { fact: 'settlingBegan' })
  try {
    await file.update({ ...change, ...(proven ? { unsettled: false } : {}) })
    if (proven) learn(parts, { fact: 'doubtsKept', raised })
  } finally {
    if (proven) learn(parts, { fact: 'settlingEnded' })
  }
}
