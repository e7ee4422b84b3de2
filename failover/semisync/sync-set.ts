import { say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { isFreeOfErrant, lackedOf } from '#topology/snapshot/comparison.ts'
import { eachOf } from '#common/text/words.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { changeRecord } from '../steps/commit.ts'
import type { FlowStep } from '../steps/step.ts'
import { errantKind } from '../judge/data/errant.ts'
import { hasHole, isShownWhole } from '../judge/data/holes.ts'
import { needsCopy } from '../judge/seeding/seeding-plan.ts'
import { countedMembers, type ClusterRecord } from '../protocol/record.ts'
import {
  departing,
  hasStrayedLong,
  isFollowing,
  isFollowingAsTold,
  isLive,
  isServing,
  liveView,
  names,
  viewOf,
  wantedInstances,
  type DecisionInput,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import { salvages } from '../protocol/mode-name.ts'
import { acksFor } from '../protocol/spec.ts'
import { isUncopied } from '../judge/data/doubted-members.ts'
import { hasDoubtedData } from '../judge/data/doubted-data.ts'

/**
 * A replica that lacks more transactions than this is not let into the sync set yet. What it received and has yet to
 * apply it does not lack: it stands for that, and election prefers whoever has less to apply.
 */
const maxLacking = 200

/**
 * The next step, if any, of bringing the sync set and k to what they should be; one compare-and-swap at a time, each in
 * the order of docs/why/safety.md, "Changing the sync set". `primary` runs, answered, and has stored this revision.
 */
export function syncSetStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const steps = [
    finishRaise,
    withdrawRaise,
    cancelLeaving,
    finishLeaving,
    addMember,
    lowerAcks,
    beginRaise,
    beginLeaving,
  ]
  for (const next of steps) {
    const found = next(situation, primary)
    if (found) return found
  }
  return undefined
}

export function wantedAcks(input: DecisionInput): number {
  return acksFor(input.spec, wantedInstances(input))
}

/** A marker acknowledged at this revision: k counted members hold everything before it. */
function isMarked(situation: Situation, primary: LiveView): boolean {
  return primary.observation.markedRevision >= situation.record.revision
}

function finishRaise(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record } = situation
  if (record.acksWanted === record.acks || !isMarked(situation, primary)) return undefined
  return changeRecord(situation, say`writes now need ${counted(record.acksWanted)}`, { acks: record.acksWanted })
}

/**
 * The marker that ends the raise would wait for replicas that are gone, and so does each write: k in the record has not
 * risen yet.
 */
function withdrawRaise(situation: Situation): FlowStep | undefined {
  const { record } = situation
  const isPending = record.acksWanted > record.acks
  if (!isPending || ableMembers(situation) >= record.acksWanted || targetAcks(situation) >= record.acksWanted)
    return undefined
  const why = say`the primary waits for ${counted(record.acks)} again: too few replicas can acknowledge more`
  return changeRecord(situation, why, { acksWanted: record.acks })
}

/** k as it is wanted; with durability available, as far as so many can acknowledge. */
function targetAcks(situation: Situation): number {
  const wanted = wantedAcks(situation)
  return situation.spec.durability === 'available' ? Math.min(wanted, ableMembers(situation)) : wanted
}

function ableMembers(situation: Situation): number {
  return situation.record.syncSet.filter((member) => !hasStrayedLong(situation, member)).length
}

function cancelLeaving(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record, snapshot } = situation
  const follows = (member: MemberId): boolean =>
    isFollowing(viewOf(snapshot, member), situation) && !mustLeave(situation, member)
  const isNeeded = (member: MemberId): boolean =>
    isCopiedInItsPlace(situation, member, primary) &&
    leftWithout(situation, member, (other) => mayFollow(situation, other)) < mostAcks(record)
  const back = record.leaving.find((member) => follows(member) || isNeeded(member))
  if (back === undefined) return undefined
  const why = follows(back) ? say`follows again` : say`cannot be spared`
  return changeRecord(situation, say`${instanceOf(back)} ${why} and stays in the sync set`, {
    leaving: record.leaving.filter((member) => member !== back),
  })
}

/**
 * A copy that takes the place of what the member has brings the member back, as long as it is not leaving
 * (docs/why/decisions/0011).
 */
function isCopiedInItsPlace(situation: Situation, member: MemberId, primary: LiveView): boolean {
  const view = liveView(situation.snapshot, member)
  return view !== undefined && needsCopy(situation, view, primary)
}

/** Its volume is there, and if it does not follow, it may be connecting again. */
function mayFollow(situation: Situation, member: MemberId): boolean {
  return viewOf(situation.snapshot, member) !== undefined && !hasStrayedLong(situation, member)
}

/** How many others could acknowledge the marker that `member` needs to leave. */
function leftWithout({ record }: Situation, member: MemberId, may: (other: MemberId) => boolean): number {
  return countedMembers(record).filter((other) => other !== member && may(other)).length
}

function finishLeaving(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record } = situation
  const leaver = record.leaving[0]
  if (leaver === undefined || !(isSmallerThanK(record) || isMarked(situation, primary))) return undefined
  const proof = isSmallerThanK(record)
    ? say`nothing is acknowledged until so many hold everything`
    : say`a marker proved that the others hold everything`
  return changeRecord(situation, say`${instanceOf(leaver)} left the sync set; ${proof}`, {
    syncSet: record.syncSet.filter((member) => member !== leaver),
    leaving: record.leaving.filter((member) => member !== leaver),
  })
}

function addMember(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record } = situation
  for (const view of situation.snapshot.instances) {
    const member = view.observation?.member
    if (member === undefined || member === record.primary || record.syncSet.includes(member)) continue
    if (!mayJoin(situation, member, primary)) continue
    const size = record.syncSet.length
    if (size + 1 === record.acks && !enoughHoldEverything(situation, [...record.syncSet, member], record.acks, primary))
      continue
    return changeRecord(situation, say`${view.name} follows and joins the sync set`, {
      syncSet: [...record.syncSet, member],
    })
  }
  return undefined
}

/**
 * A follower of this epoch without errant transactions and without a hole, not far behind, that forgot nothing and is
 * meant to stay. An instance that is just being told to give up what it has would hold nothing of what it joined with.
 */
function mayJoin(situation: Situation, member: MemberId, primary: LiveView): boolean {
  const { record } = situation
  const view = liveView(situation.snapshot, member)
  if (view !== undefined && situation.inFlight.get(view.name)?.order === 'reseed') return false
  if (!isFollowingAsTold(view, situation) || mustLeave(situation, member)) return false
  if (view.observation.stored.assignment?.revision !== record.revision) return false
  if (!isShownWhole(situation, view, primary)) return false
  const lacking = lackedOf(view.observation, primary.observation).count()
  return lacking <= maxLacking && isFreeOfErrant(view.observation, primary.observation)
}

/**
 * Its volume is gone (another one is there now, or no instance at all), it is meant to go, it holds what the primary
 * lacks, less than it claims, or was passed over.
 */
function mustLeave(situation: Situation, member: MemberId): boolean {
  const view = viewOf(situation.snapshot, member)
  return view === undefined || departing(situation).includes(view.name) || isDoubtful(situation, view)
}

function isDoubtful(situation: Situation, view: InstanceView): boolean {
  if (!isLive(view)) return false
  const { stored } = view.observation
  return (
    view.past !== undefined ||
    hasDoubtedData(stored) ||
    isUncopied(situation.record, view.observation) ||
    stored.forgetful ||
    stored.seeding ||
    errantKind(situation, view) === 'harmful' ||
    hasHole(situation, view)
  )
}

/**
 * The primary may have been looked at before the others: with |S| < k, as everywhere where this is asked, it
 * acknowledges nothing, so that it needs nobody for what it has written since.
 */
function enoughHoldEverything(
  situation: Situation,
  members: readonly MemberId[],
  wanted: number,
  primary: LiveView,
): boolean {
  const holding = members.filter((member) => {
    const view = liveView(situation.snapshot, member)
    return isFollowing(view, situation) && lackedOf(view.observation, primary.observation).isEmpty()
  })
  return holding.length >= wanted
}

function lowerAcks(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record } = situation
  const [wanted, target] = [wantedAcks(situation), targetAcks(situation)]
  if (target >= record.acks || record.acks !== record.acksWanted) return undefined
  if (record.syncSet.length < record.acks && !enoughHoldEverything(situation, record.syncSet, target, primary))
    return undefined
  const loudly =
    target < wanted ? say` (durability available: fewer than wanted, because too few replicas can acknowledge)` : ''
  return changeRecord(situation, say`writes now need ${counted(target)}${loudly}`, { acks: target, acksWanted: target })
}

function beginRaise(situation: Situation): FlowStep | undefined {
  const { record } = situation
  const healthy = countedMembers(record).filter((member) => !isStraying(situation, member)).length
  // As many as are wanted of the instances that are there: while a cluster grows, each replica would be needed for
  // every write.
  const target = Math.min(wantedAcks(situation), acksFor(situation.spec, healthy + 1))
  if (record.acks !== record.acksWanted || target <= record.acks) return undefined
  return changeRecord(situation, say`the primary waits for ${counted(record.acks + 1)} from now on`, {
    acksWanted: record.acks + 1,
  })
}

/**
 * The primary counts nobody outside of S, so with |S| < k nothing is acknowledged and the invariant asks nothing of S:
 * a member that can never hold everything again (its volume is gone, it is errant) may be dropped as soon as its gate
 * is closed. Else S could never become k members that hold everything.
 */
function isSmallerThanK({ syncSet, acks }: ClusterRecord): boolean {
  return syncSet.length < acks
}

/**
 * A member that is brought back by a copy begins to leave only where k others follow: the marker of its leaving would
 * wait for the copy, and the copy for the end of its leaving.
 */
function beginLeaving(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record, snapshot } = situation
  const small = isSmallerThanK(record)
  if (record.leaving.length > 0 || (!small && record.syncSet.length - 1 < mostAcks(record))) return undefined
  const isDue = (member: MemberId): boolean =>
    mustLeave(situation, member) || (!small && hasStrayedLong(situation, member))
  const follows = (other: MemberId): boolean => isFollowing(viewOf(snapshot, other), situation)
  const waitsForItsCopy = (member: MemberId): boolean =>
    !small &&
    isCopiedInItsPlace(situation, member, primary) &&
    leftWithout(situation, member, follows) < mostAcks(record)
  const due = countedMembers(record).find(
    (member) =>
      isFirstOfItsInstance(record, member) &&
      isDue(member) &&
      !isNeededYet(situation, member) &&
      !waitsForItsCopy(member),
  )
  if (due === undefined) return undefined
  return changeRecord(
    situation,
    say`${instanceOf(due)} ${mustLeave(situation, due) ? say`is to leave` : say`does not follow`} and leaves the sync set`,
    { leaving: [due] },
  )
}

/**
 * A member that is only meant to go acknowledges as well as any other: the member leaves once writes go on without it.
 * A member that has just joined must hear of that first, and connect anew. With |S| < k no writes go on with the leaver
 * either.
 */
function isNeededYet(situation: Situation, member: MemberId): boolean {
  const { record, snapshot } = situation
  const view = viewOf(snapshot, member)
  const isMeantToGo = view !== undefined && departing(situation).includes(view.name) && !isDoubtful(situation, view)
  if (!isMeantToGo || isSmallerThanK(record)) return false
  const acknowledging = countedMembers(record).filter((other) => isAcknowledging(situation, other))
  return acknowledging.includes(member) && acknowledging.length <= mostAcks(record)
}

/** What a write may have to wait for: the larger one while k is being raised. */
function mostAcks({ acks, acksWanted }: ClusterRecord): number {
  return Math.max(acks, acksWanted)
}

/** The replica is connected as a counted one. Whether it applies what it gets is another matter. */
function isAcknowledging({ snapshot, record, timings }: Situation, member: MemberId): boolean {
  const view = liveView(snapshot, member)
  if (!isServing(view, timings)) return false
  const {
    stored: { assignment },
    server,
  } = view.observation
  const isTold =
    assignment?.epoch === record.epoch &&
    assignment.counted === true &&
    assignment.source === instanceOf(record.primary)
  return isTold && server?.channel?.ioRunning === 'yes' && server.channel.semiSync
}

/**
 * An instance that came back on another volume may be in S twice, the lost member before the new one. The lost member
 * leaves first: the gate is the instance's, and could not be closed for the new member while the lost one counts. A
 * manager that still sees the old volume would take the new member for the one that is gone.
 */
function isFirstOfItsInstance({ syncSet }: ClusterRecord, member: MemberId): boolean {
  return syncSet.find((other) => instanceOf(other) === instanceOf(member)) === member
}

function isStraying(situation: Situation, member: MemberId): boolean {
  return situation.strayingSince.has(instanceOf(member))
}

/** What keeps writes waiting or less protected than asked for; '' when nothing does. */
export function syncSetShortfall(situation: Situation): Said {
  const { record } = situation
  const live = countedMembers(record).filter((member) => !isStraying(situation, member))
  const needed = mostAcks(record)
  if (live.length < needed) {
    const able = live.length === 0 ? say`no replica` : say`only ${names(live)}`
    return say`writes wait: ${counted(needed)} ${needed === 1 ? say`is` : say`are`} needed and ${able} can give one`
  }
  if (record.acks < wantedAcks(situation))
    return say`writes need ${counted(record.acks)} instead of ${wantedAcks(situation)}`
  if (record.acks === 0 && !salvages(situation.spec)) return say`not protected: acks is 0`
  return live.length > 0 && live.length === needed
    ? say`the loss of ${eachOf(live.map(instanceOf))} would make writes wait`
    : ''
}

function counted(acks: number): Sentence {
  return acks === 0 ? say`no acknowledgement` : acks === 1 ? say`one acknowledgement` : say`${acks} acknowledgements`
}
