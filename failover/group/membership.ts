import type { GroupView } from '../../topology/group/group-view.ts'
import { unappliedOf } from '../../topology/snapshot/holdings.ts'
import { instanceOf, type MemberId } from '../../topology/snapshot/member.ts'
import { step, type FlowStep } from '../flows/step.ts'
import {
  departing,
  isErrant,
  isFenced,
  isServing,
  liveView,
  liveViews,
  viewOf,
  type Situation,
} from '../judge/situation.ts'
import type { ClusterRecord } from '../protocol/record.ts'

/**
 * Who is admitted to the group, and who is not any more; one compare-and-swap at a time. The record never names fewer
 * than may be members: who joins is admitted first, who leaves is dropped last. So a reboot compares everybody who may
 * hold what was acknowledged.
 */
export function membershipStep(situation: Situation, view: GroupView): FlowStep | undefined {
  return finishLeaving(situation, view) ?? beginLeaving(situation) ?? admit(situation)
}

function change(situation: Situation, why: string, fields: Partial<ClusterRecord>): FlowStep {
  const { record } = situation
  return step(why, [{ kind: 'commit', why, next: { ...record, ...fields, revision: record.revision + 1 } }])
}

/** It is in no view any more, and the primary has on its disk, executed, all that the group has received. */
function finishLeaving(situation: Situation, view: GroupView): FlowStep | undefined {
  const { record } = situation
  const server = liveView(situation.snapshot, record.primary)?.observation.server
  const gone = record.leaving.find((member) => !view.members.has(instanceOf(member)) || isElsewhere(situation, member))
  if (gone === undefined || !server || server.group?.applying !== 0 || !unappliedOf(server).isEmpty()) return undefined
  return change(situation, `${instanceOf(gone)} left the group; the primary has executed all that the group received`, {
    syncSet: record.syncSet.filter((member) => member !== gone),
    leaving: record.leaving.filter((member) => member !== gone),
  })
}

function beginLeaving(situation: Situation): FlowStep | undefined {
  const { record } = situation
  const due = record.syncSet.find(
    (member) =>
      !record.leaving.includes(member) &&
      (isElsewhere(situation, member) || departing(situation).includes(instanceOf(member))),
  )
  if (due === undefined) return undefined
  const why = `${instanceOf(due)} ${isElsewhere(situation, due) ? 'lives on another volume, or is gone,' : 'is to go'} and leaves the group`
  return change(situation, why, { leaving: [...record.leaving, due] })
}

/** Its instance is gone, or lives on another volume: it is somebody else. */
function isElsewhere({ snapshot }: Situation, member: MemberId): boolean {
  return viewOf(snapshot, member) === undefined
}

function admit(situation: Situation): FlowStep | undefined {
  const { record, snapshot, timings, notes } = situation
  const known = [record.primary, ...record.syncSet]
  const joiner = liveViews(snapshot).find(
    (view) =>
      !known.includes(view.observation.member) &&
      view.past === undefined &&
      isServing(view, timings) &&
      !isDoubtful(situation, view.observation.member) &&
      !departing(situation).includes(view.name) &&
      !isFenced(notes, view.name) &&
      !situation.inFlight.has(view.name),
  )
  if (joiner === undefined) return undefined
  return change(situation, `${joiner.name} is admitted to the group`, {
    syncSet: [...record.syncSet, joiner.observation.member],
  })
}

/** It holds what the group has not, or less than its GTIDs claim: it is seeded first. */
function isDoubtful(situation: Situation, member: MemberId): boolean {
  const view = liveView(situation.snapshot, member)
  if (view === undefined) return true
  const { stored } = view.observation
  return stored.fromThePast || stored.filterSeen || stored.seeding || isErrant(situation, view)
}
