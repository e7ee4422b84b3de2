import { recordedMembers } from '../protocol/record.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { groupSeenBy, type GroupView } from '#topology/group/group-view.ts'
import { isFreeOfErrant } from '#topology/snapshot/comparison.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import { changeRecord } from '../steps/commit.ts'
import type { FlowStep } from '../steps/step.ts'
import { mayReseed } from '../judge/seeding/reseed-consent.ts'
import { whyNotAsItIs } from '../judge/seeding/seeding-plan.ts'
import {
  departing,
  isFenced,
  isServing,
  leavers,
  liveView,
  liveViews,
  viewOf,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import { lowestIfBlocked } from './blocked-by-version.ts'

/**
 * Members are admitted to the group and dropped from it by one compare-and-swap at a time. The record never names fewer
 * than may be members: a joining instance is admitted first, a leaving one is dropped last. So a reboot compares all
 * instances that may hold what was acknowledged.
 */
export function membershipStep(situation: Situation, view: GroupView): FlowStep | undefined {
  return finishLeaving(situation, view) ?? beginLeaving(situation, view) ?? admit(situation)
}

/**
 * The leaver may be dropped when three things are so: no view has it any more, the primary's own view among them; its
 * agent will not bring it back by an old order; and the primary has on its disk, executed, all that the group has
 * received.
 */
function finishLeaving(situation: Situation, view: GroupView): FlowStep | undefined {
  const { record } = situation
  const gone = record.leaving.find((member) =>
    isElsewhere(situation, member)
      ? !hasStranger(situation, view)
      : !view.members.has(instanceOf(member)) && staysOut(situation, member),
  )
  if (gone === undefined || !hasExecutedAll(situation)) return undefined
  return changeRecord(
    situation,
    say`${instanceOf(gone)} left the group; the primary has executed all that the group received`,
    {
      syncSet: record.syncSet.filter((member) => member !== gone),
      leaving: record.leaving.filter((member) => member !== gone),
    },
  )
}

/** A member that is no instance: the server of one that is gone, or lives on another volume, may live on. */
function hasStranger({ snapshot }: Situation, { members }: GroupView): boolean {
  return [...members.keys()].some((member) => !snapshot.instances.some(({ name }) => name === member))
}

/**
 * The member's agent has stored that it is to stay out, by this revision, and does not join at this moment by what it
 * was told before. A silent member may still be joining, unless it is taken away for good.
 */
function staysOut(situation: Situation, member: MemberId): boolean {
  const view = liveView(situation.snapshot, member)
  if (view === undefined) return leavers(situation).includes(instanceOf(member))
  const { joinsGroup, stored } = view.observation
  // What it was told before may still be on its way: whoever has stored this revision refuses that.
  if ((stored.assignment?.revision ?? 0) < situation.record.revision) return false
  const isOut = isOutside(view)
  return isOut && joinsGroup !== true && stored.assignment?.groupDoes === 'stayOut'
}

function isOutside({ observation: { server } }: LiveView): boolean {
  const state = server?.group?.state ?? 'OFFLINE'
  return state === 'OFFLINE' || state === 'ERROR'
}

/** What the primary said lately: what it said before may be of a view in which the leaver was. */
function hasExecutedAll(situation: Situation): boolean {
  const primary = primaryOf(situation)
  if (primary === undefined) return false
  const { server } = primary.observation
  return server?.group?.applying === 0 && unappliedOf(server).isEmpty()
}

/** The record's primary, where it is ONLINE and answered lately. */
function primaryOf({ snapshot, record, timings }: Situation): LiveView | undefined {
  const primary = liveView(snapshot, record.primary)
  return primary !== undefined && groupSeenBy(primary, timings.frozenMs)?.state === 'ONLINE' ? primary : undefined
}

function beginLeaving(situation: Situation, view: GroupView): FlowStep | undefined {
  const { record } = situation
  for (const member of record.syncSet) {
    const why = record.leaving.includes(member) ? null : whyLeave(situation, member, view)
    if (why !== null)
      return changeRecord(situation, say`${instanceOf(member)} ${why}`, { leaving: [...record.leaving, member] })
  }
  return undefined
}

function whyLeave(situation: Situation, member: MemberId, view: GroupView): Sentence | null {
  const name = instanceOf(member)
  if (isElsewhere(situation, member)) return say`lives on another volume, or is gone, and leaves the group`
  if (departing(situation).includes(name)) return say`is to go and leaves the group`
  const own = liveView(situation.snapshot, member)
  const why = view.members.has(name) ? whyInDoubt(situation, own, view) : whyCopied(situation, own)
  return why === null ? null : say`${why}: it leaves the group, to be seeded`
}

/**
 * Why a member whose data are in doubt leaves the group; one at a time, and only while each instance is a member. Until
 * then it stays, and is elected last. Where a person decides about copies it stays until that person says so.
 */
function whyInDoubt(situation: Situation, view: LiveView | undefined, { members }: GroupView): Sentence | null {
  const { record, snapshot } = situation
  if (view?.observation.stored.opened !== true || !mayReseed(situation, view.name)) return null
  const isWhole = snapshot.instances.every(({ name }) => members.get(name) === 'ONLINE')
  if (!isWhole || record.leaving.length > 0) return null
  return whyCopied(situation, view)
}

/**
 * Why an instance outside of the group must be a copy of another before it may join; null where it may as it is, or
 * nobody can tell. What it alone has is archived by the order that seeds it.
 */
function whyCopied(situation: Situation, view: LiveView | undefined): Sentence | null {
  const primary = primaryOf(situation)
  if (primary === undefined || !isServing(view, situation.timings)) return null
  return whyNotAsItIs(situation, view, primary)
}

/** Its instance is gone, or lives on another volume: it is somebody else. */
function isElsewhere({ snapshot }: Situation, member: MemberId): boolean {
  return viewOf(snapshot, member) === undefined
}

function admit(situation: Situation): FlowStep | undefined {
  const { record, snapshot, timings, notes } = situation
  const known = recordedMembers(record)
  const joiner = liveViews(snapshot).find(
    (view) =>
      !known.includes(view.observation.member) &&
      view.past === undefined &&
      isServing(view, timings) &&
      isFit(situation, view) &&
      !departing(situation).includes(view.name) &&
      !isFenced(notes, view.name) &&
      !situation.inFlight.has(view.name),
  )
  if (joiner === undefined) return undefined
  return changeRecord(situation, say`${joiner.name} is admitted to the group`, {
    syncSet: [...record.syncSet, joiner.observation.member],
  })
}

/**
 * The group may take the instance as it is: the instance holds nothing that the group has not, and no less than its
 * GTIDs claim, and its version is not too low. An instance that is still in a group that was given up leaves that group
 * first: it may acknowledge there.
 */
function isFit(situation: Situation, view: LiveView): boolean {
  const primary = primaryOf(situation)
  return (
    primary !== undefined &&
    (isOutside(view) || view.observation.server?.group?.name === situation.record.group?.name) &&
    whyNotAsItIs(situation, view, primary) === null &&
    isFreeOfErrant(view.observation, primary.observation) &&
    lowestIfBlocked(view, primary, situation.timings.frozenMs) === null
  )
}
