import { leadingOf, type Leading, type Life } from '../instance/life.ts'
import type { StoredState } from '../instance/stored-state.ts'

/** The group made it primary, and its events run. */
export function isLeadingGroup(life: Life): boolean {
  return leadingOf(life)?.step === 'open'
}

/** The server is a secondary, and its events do not run. */
export function isMemberAs({ stage }: Life): boolean {
  return stage.is === 'following' && stage.as === 'secondary'
}

export const leadsGroup: Leading = {
  is: 'leading',
  step: 'open',
  inPlace: false,
  executed: '',
  wasPrepared: false,
  applied: null,
  tidyAtMs: null,
}

/**
 * The instance formed the group in this epoch: the names (GTIDs) of what it has written are the group's from then on.
 */
export function marksOfForming({ forked }: StoredState, epoch: number): Partial<StoredState> {
  return { formedEpoch: epoch, ...(forked ? { forked: false } : {}) }
}
