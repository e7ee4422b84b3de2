import { say } from '#common/sentence/sentence.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { ClusterRecord, Doubted } from '#failover/protocol/record.ts'
import { liveViews, type Situation } from '../situation.ts'

/**
 * Nobody can tell whether its rows are those of the primary that a person chose, although its GTIDs may be: it was
 * there before that choice, and is no copy made since.
 */
export function isUncopied(
  { doubted }: Pick<ClusterRecord, 'doubted'>,
  { member, stored }: Pick<Observation, 'member' | 'stored'>,
): boolean {
  return doubted !== undefined && doubted.members.includes(member) && (stored.copiedEpoch ?? 0) < doubted.since
}

/** What such a one does, behind its name. */
export const mayHoldOtherRows = say`may hold other rows by the same names than the primary that a person chose`

/** As `whyDoubted` says it. */
export const uncopied = say`it ${mayHoldOtherRows}`

/** Its agent is older than that, and would not say of a copy that it is one: it is not copied over and over. */
export function saysWhenCopied({ stored }: Pick<Observation, 'stored'>): boolean {
  return stored.copiedEpoch !== undefined
}

/** For the record of the next epoch, that of a primary whom a person chose: everybody else. */
export function everybodyBut({ record, snapshot }: Situation, primary: MemberId): Doubted {
  const before = [record.primary, ...record.syncSet, ...(record.doubted?.members ?? [])]
  const heard = liveViews(snapshot).map(({ observation }) => observation.member)
  const members = new Set([...before, ...heard])
  members.delete(primary)
  return { since: record.epoch + 1, members: [...members] }
}
