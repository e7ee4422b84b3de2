import type { StoredSummary } from '../../topology/snapshot/observation.ts'

/** Whether its data may be others than its GTIDs say: only a copy of another instance ends that. */
export function hasDoubtedData({
  fromThePast,
  filterSeen,
  opened,
}: Pick<StoredSummary, 'fromThePast' | 'filterSeen' | 'opened'>): boolean {
  return fromThePast || filterSeen || opened === true
}
