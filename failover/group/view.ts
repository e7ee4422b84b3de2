import { groupView, type GroupView, type KnownGroup } from '#topology/group/group-view.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import type { DecisionInput, Situation } from '../judge/situation.ts'
import { recordedMembers, type ClusterRecord } from '../protocol/record.ts'

/** The group as its members show it, by what the record says that the group is. */
export function viewOf({ snapshot, record, timings }: Situation): GroupView {
  return groupView(snapshot, knownBy(record, timings))
}

/** What the record says that the group is. */
export function knownBy(record: ClusterRecord | undefined, { frozenMs }: DecisionInput['timings']): KnownGroup {
  return {
    name: record?.group?.name ?? '',
    expected: record === undefined ? [] : recordedMembers(record).map(instanceOf),
    frozenMs,
    formed: record?.group?.view ?? '',
  }
}

/**
 * The instance was in a group that another hand formed, and knows that. An older agent stores no more than that its
 * server was open, once it was told of the other group.
 */
export function wasInFork({ opened, forked, assignment }: StoredSummary): boolean {
  return forked === true || (opened === true && assignment?.groupFork === true)
}
