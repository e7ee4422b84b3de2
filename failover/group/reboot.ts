import { command, joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { areBeingStarted, startingAmong } from '../judge/election/starting.ts'
import type { GroupView } from '#topology/group/group-view.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { allOf } from '#common/text/words.ts'
import { promiseAction } from '../steps/promising.ts'
import { changeRecord } from '../steps/commit.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { promisedBy } from '../judge/election/promised.ts'
import { isUncopied } from '../judge/data/doubted-members.ts'
import {
  hasPromised,
  liveView,
  liveViews,
  viewNamed,
  wasHeardLately,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import { recordedMembers, type ClusterRecord } from '../protocol/record.ts'
import { assignmentOrders } from './assignments.ts'
import { formAnew, isStrangerInDoubt, lossBy } from './forming-anew.ts'
import { viewOf, wasInFork } from './view.ts'

/**
 * Members that may hold what was acknowledged: the record never names fewer than may have been members. An instance
 * that is none of them is among them where a person names it.
 */
function everybody(situation: Situation): readonly MemberId[] {
  const named = chosenBeside(situation)
  return [...recordedMembers(situation.record), ...(named === undefined ? [] : [named])]
}

/**
 * The members that the record names may be gone for good, before anybody else is a member or a copy: then a person
 * chooses once more. Undefined where nobody is chosen, or a member of the record.
 */
export function chosenBeside(situation: Situation): MemberId | undefined {
  const asked = situation.requests.find((request) => request.kind === 'failover')
  return asked?.acceptLoss === true ? choiceBeside(situation, asked.to) : undefined
}

function choiceBeside(situation: Situation, name: InstanceName | null): MemberId | undefined {
  return doubtedOf(situation.record, name) ?? strangersTo(situation).find((member) => instanceOf(member) === name)
}

function doubtedOf(record: ClusterRecord, name: InstanceName | null): MemberId | undefined {
  const known = recordedMembers(record)
  return record.doubted?.members.find((member) => instanceOf(member) === name && !known.includes(member))
}

/**
 * Instances that the record does not name, and that may be chosen: none while a member is left that it names, nor while
 * anybody sees a group that goes on.
 */
function strangersTo(situation: Situation): readonly MemberId[] {
  const known = recordedMembers(situation.record)
  if (viewOf(situation).primary !== null || known.some((member) => isLeft(situation, member))) return []
  return liveViews(situation.snapshot)
    .filter(({ past, observation: { stored } }) => past === undefined && !stored.seeding)
    .map(({ observation }) => observation.member)
    .filter((member) => !known.includes(member))
}

/** The member answers, and says what it holds once it is asked. */
function isLeft(situation: Situation, member: MemberId): boolean {
  const view = liveView(situation.snapshot, member)
  return view !== undefined && !isSeeded(situation, member) && !doesNotComeUp(view.observation)
}

/**
 * No group takes writes. Each member that the record names promises the next epoch, so that nothing of the old group
 * can go on, and says what the member holds. A member that holds what all hold forms the group anew. Instances that the
 * record does not name are not waited for. A silent member may hold what was acknowledged last: a person decides.
 */
export function rebootStep(situation: Situation, view: GroupView): FlowStep {
  const forced = situation.requests.find((request) => request.kind === 'failover')
  const acceptLoss = forced?.acceptLoss === true
  const silent = silentMembers(situation)
  const asked = askedMembers(situation).filter((member) => !silent.includes(member))
  // A person gives up who is silent, and nobody where none could go on without.
  const areGivenUp = acceptLoss && asked.length > 0
  if (silent.length > 0 && !areGivenUp) return waitForSilent(situation, view, silent)
  const lately = heardLately(situation, silent)
  if (lately.length > 0) return waitForLately(situation, view, lately)
  const before = beforePromises(situation, view, forced !== undefined)
  if (before !== undefined) return before
  const next = situation.record.epoch + 1
  const promised = asked.flatMap((member) => promisedBy(situation, member, next) ?? [])
  const missing = asked.filter((member) => !promised.some((one) => one.member === member))
  if (missing.length > 0)
    return step(
      say`${view.sentence}: asking ${allOf(missing.map(instanceOf))} to promise epoch ${next} and to say what they hold`,
      missing.map((member) => promiseAction(situation, member, next)),
      { flow: 'failover', blocked: true, revisitMs: 1_000 },
    )
  const choice = { accepted: silent, acceptLoss, to: forced?.to ?? null }
  return formAnew(situation, promised, choice)
}

function beforePromises(situation: Situation, view: GroupView, isForced: boolean): FlowStep | undefined {
  return noteParted(situation, view) ?? waitForDoubt(situation, view) ?? waitsFor(situation, view, isForced)
}

/**
 * A person chose among two groups. A member that promises leaves its group, and nobody would know any more that there
 * were two: so the split is in the record before any member is asked, also for a later manager.
 */
function noteParted({ record }: Situation, { condition }: GroupView): FlowStep | undefined {
  const { group } = record
  if (condition !== 'splitBrain' || group === undefined || group.parted === true) return undefined
  const why = say`two groups of one name went on apart: from now on nobody leads by what is held, but whom a person names`
  return { ...changeRecord({ record }, why, { group: { ...group, parted: true } }), flow: 'failover' }
}

/** A person who asks for a failover does not wait for these. */
function waitsFor(situation: Situation, view: GroupView, isForced: boolean): FlowStep | undefined {
  if (isForced) return undefined
  const { paused } = situation.notes
  const stalled = stalledMembers(situation)
  if (stalled.length > 0) return waitForStalled(situation, view, stalled)
  if (paused === null) return undefined
  const sentence = say`${view.sentence}, but the cluster is paused: ${text(paused.reason)}`
  return step(sentence, assignmentOrders(situation), { blocked: true, revisitMs: 1_000 })
}

/**
 * They are in a group that another hand formed, and do not doubt themselves yet. What they wrote there may have the
 * names of what the group acknowledged: by what they hold such a member could lead.
 */
function trustingForks({ snapshot }: Situation, { forks }: GroupView): readonly InstanceName[] {
  return forks.filter((name) => {
    const observation = viewNamed(snapshot, name)?.observation
    return observation?.server?.group?.proposed !== undefined && !wasInFork(observation.stored)
  })
}

function waitForDoubt(situation: Situation, view: GroupView): FlowStep | undefined {
  const trusting = trustingForks(situation, view)
  if (trusting.length === 0) return undefined
  const storing = say`${allOf(trusting)} ${trusting.length === 1 ? say`stores` : say`store`}`
  const sentence = say`${view.sentence}: before anybody is asked what is held, ${storing} that nobody can tell what was written there`
  return step(sentence, assignmentOrders(situation), { blocked: true, revisitMs: 500 })
}

/** Nobody says what they hold. */
function silentMembers(situation: Situation): readonly MemberId[] {
  return everybody(situation).filter(
    (member) => liveView(situation.snapshot, member) === undefined || cannotTell(situation, member),
  )
}

/**
 * A connection ended this moment, and the next one comes at once in most cases; what was heard is believed once the
 * notes are written; or a promise was asked for, and the answer may come yet. What one of these holds is not given up.
 */
function heardLately(situation: Situation, silent: readonly MemberId[]): readonly InstanceName[] {
  return silent.map(instanceOf).filter((name) => {
    const view = viewNamed(situation.snapshot, name)
    const isAsked = situation.inFlight.get(name)?.order === 'promise'
    return view?.reachable === false && (isAsked || wasHeardLately(view, situation))
  })
}

function waitForLately(situation: Situation, view: GroupView, lately: readonly InstanceName[]): FlowStep {
  const were = lately.length === 1 ? say`was` : say`were`
  const sentence = say`${view.sentence}; ${allOf(lately)} ${were} heard a moment ago: nothing is given up before that lasts`
  return step(sentence, assignmentOrders(situation), { blocked: true, revisitMs: situation.timings.unreachableMs })
}

/**
 * The member has promised, is outside of every group by that, and its mysqld does not come up to say what it holds. Or
 * a primary began to be seeded: a copy would say what the donor held.
 */
function cannotTell(situation: Situation, member: MemberId): boolean {
  const { snapshot, record } = situation
  const view = liveView(snapshot, member)
  if (view === undefined) return false
  if (isSeeded(situation, member)) return member === record.primary
  return hasPromised(record, view.observation) && doesNotComeUp(view.observation)
}

/**
 * It began to be seeded, perhaps before it was admitted: it holds nothing that counts, and is outside of every group.
 * It has nothing to say before the copy is whole, which may never be while nobody is there to give one.
 */
function isSeeded({ snapshot }: Situation, member: MemberId): boolean {
  return liveView(snapshot, member)?.observation.stored.seeding === true
}

/** Members that can say what they hold once they promised. */
function askedMembers(situation: Situation): readonly MemberId[] {
  return everybody(situation).filter((member) => !isSeeded(situation, member))
}

/** Starts that fail before a member is given up: a start that fails may be followed by one that succeeds. */
const startsTried = 3

/** The kernel ends a process within seconds, unless a disk does not answer. */
const heldMs = 60_000

/** Its mysqld is started again and again, in vain; or was ended, and the kernel holds it. */
export function doesNotComeUp({
  process,
  processSinceMs,
  startsFailed = 0,
  settingsRefused = '',
}: Observation): boolean {
  const isHeld = process === 'exiting' && processSinceMs >= heldMs
  const isUp = process === 'running' || process === 'stopped'
  return !isUp && (startsFailed >= startsTried || settingsRefused !== '' || isHeld)
}

/**
 * A server that stands still for less is waited for: where a whole machine stands still the group goes on a moment
 * later, and to form it anew would end every server.
 */
export const stalledMs = 10_000

/** Members by their last word, whose servers do not answer at this moment. */
function stalledMembers(situation: Situation): readonly LiveView[] {
  const { record, snapshot, timings } = situation
  return everybody(situation)
    .flatMap((member) => liveView(snapshot, member) ?? [])
    .filter(({ observation }) => {
      const { silentMs } = observation
      const isSilent = silentMs >= timings.frozenMs && silentMs < stalledMs
      return isSilent && wasMember(observation) && !hasPromised(record, observation)
    })
}

function wasMember({ process, server }: Observation): boolean {
  const isUp = process === 'running' || process === 'stopped'
  return isUp && (server?.group?.state === 'ONLINE' || server?.group?.state === 'RECOVERING')
}

function waitForStalled(situation: Situation, view: GroupView, stalled: readonly LiveView[]): FlowStep {
  const names = allOf(stalled.map(({ name }) => name))
  const members = stalled.length === 1 ? say`was a member and does` : say`were members and do`
  const sentence = say`${view.sentence}; ${names} ${members} not answer at this moment: the group is formed anew where that lasts ${stalledMs / 1_000} s`
  return step(sentence, assignmentOrders(situation), { blocked: true, revisitMs: 500 })
}

function waitForSilent(situation: Situation, view: GroupView, silent: readonly MemberId[]): FlowStep {
  const past = silent.filter((member) => wentBack(situation, member))
  const seedings = silent.filter((member) => isSeeded(situation, member))
  const down = silent.filter((member) => cannotTell(situation, member) && !seedings.includes(member))
  const away = silent.filter((member) => ![...past, ...down, ...seedings].includes(member))
  const missing = joined(
    [...whoIsAway(away), ...whoIsDown(down), ...seedings.map(whoIsSeeded), ...whoWentBack(past)],
    '; ',
  )
  const seeded =
    past.length === 0
      ? ''
      : say`; ${allOf(past.map(instanceOf))} ${are(past)} seeded again by ${itself(past)} after that`
  const starting = startingAmong(situation)
  const giveUp = say`, or give those up: ${command('failover', '--accept-loss')}${seeded}`
  // Where nobody is left none can go on without the others.
  const isAnybodyLeft = askedMembers(situation).some((member) => !silent.includes(member))
  const orElse = isAnybodyLeft ? giveUp : strangersTo(situation).length > 0 ? chooseBeside : ''
  const without = starting.length > 0 ? say`; ${areBeingStarted(starting)}` : orElse
  return step(say`${view.sentence}. ${missing}${without}`, assignmentOrders(situation), {
    blocked: true,
    revisitMs: 1_000,
  })
}

const chooseBeside = say`, or choose who leads: ${command('failover', '--accept-loss', '--to', '<instance>')}`

function whoIsAway(away: readonly MemberId[]): readonly Sentence[] {
  if (away.length === 0) return []
  const them = away.length === 1 ? say`it` : say`them`
  return [say`The last writes may be on ${allOf(away.map(instanceOf))} alone: bring ${them} back`]
}

/** Their agents answer, and say in the analysis why that is so. */
function whoIsDown(down: readonly MemberId[]): readonly Sentence[] {
  if (down.length === 0) return []
  const [does, holds] = down.length === 1 ? [say`does`, say`it`] : [say`do`, say`they`]
  return [
    say`mysqld of ${allOf(down.map(instanceOf))} ${does} not come up, and ${holds} may hold the last writes: put right why`,
  ]
}

/** Where nobody else is to form the group: a person puts that right, or chooses somebody. */
export function whyNotFormed(situation: Situation): Sentence {
  const name = instanceOf(situation.record.primary)
  const choose = strangersTo(situation).length > 0 ? chooseBeside : ''
  return say`mysqld of ${name} does not come up, and nobody else is to form the group: put right why${choose}`
}

/** Only a primary, whose copy would have been refused. */
function whoIsSeeded(member: MemberId): Sentence {
  return say`${instanceOf(member)} led and began to be seeded: let that copy end`
}

/** They answer, and what they held last is on the volumes that were there before. */
function whoWentBack(past: readonly MemberId[]): readonly Sentence[] {
  if (past.length === 0) return []
  const [volumes, newer] =
    past.length === 1 ? [say`its volume`, say`the newer volume`] : [say`their volumes`, say`the newer volumes`]
  return [
    say`${allOf(past.map(instanceOf))} may have held the last writes, and ${volumes} went back in time: put ${newer} back`,
  ]
}

const are = (members: readonly MemberId[]) => (members.length === 1 ? say`is` : say`are`)
const itself = (members: readonly MemberId[]) => (members.length === 1 ? say`itself` : say`themselves`)

/** Its volume went back in time: whoever answers there is nobody whom the record knows. */
function wentBack({ snapshot }: Situation, member: MemberId): boolean {
  return viewNamed(snapshot, instanceOf(member))?.past === member
}

/** Why the group cannot be formed anew without giving anything up; null where it can. */
export function whyNoReboot(situation: Situation): Sentence | null {
  const silent = silentMembers(situation)
  const past = silent.find((member) => wentBack(situation, member))
  if (past !== undefined) return say`the volume of ${instanceOf(past)} went back in time`
  if (silent.some((member) => isSeeded(situation, member)))
    return say`${instanceOf(situation.record.primary)} led and began to be seeded`
  const down = silent.find((member) => cannotTell(situation, member))
  if (down !== undefined) return say`mysqld of ${instanceOf(down)} does not come up`
  return silent.length === 0
    ? null
    : say`${allOf(silent.map(instanceOf))} ${silent.length === 1 ? say`does` : say`do`} not answer`
}

/** Why this instance cannot form the group anew, whatever a person gives up; null where it may. */
export function whyNeverForms(situation: Situation, to: InstanceName): Sentence | null {
  if (!situation.snapshot.instances.some(({ name }) => name === to)) return say`there is no instance ${to}`
  const member = choiceBeside(situation, to) ?? everybody(situation).find((one) => instanceOf(one) === to)
  if (member === undefined) return say`${to} is no member of the group that the record names`
  if (wentBack(situation, member)) return say`the volume of ${to} went back in time`
  if (isSeeded(situation, member)) return say`${to} began to be seeded and holds nothing that counts`
  if (cannotTell(situation, member)) return say`mysqld of ${to} does not come up`
  return liveView(situation.snapshot, member) === undefined ? say`${to} does not answer` : null
}

/** What a person would give up, as far as it is known, in words. */
export function lossOfReboot(situation: Situation, to: InstanceName | null): Sentence {
  const promised = everybody(situation).flatMap(
    (member) => promisedBy(situation, member, situation.record.epoch + 1) ?? [],
  )
  return lossBy(promised, { accepted: silentMembers(situation), to }, isOfTwo(situation, to) ? to : null)
}

function isOfTwo(situation: Situation, to: InstanceName | null): boolean {
  const { record, snapshot } = situation
  const { condition, forks } = viewOf(situation)
  if (condition === 'splitBrain' || record.group?.parted === true) return true
  const observation = to === null ? null : viewNamed(snapshot, to)?.observation
  return observation != null && (forks.includes(observation.instance) || tellsByNoName(record, observation))
}

function tellsByNoName(record: ClusterRecord, observation: Observation): boolean {
  const { stored } = observation
  const isOther = wasInFork(stored) || isUncopied(record, observation)
  return stored.gtidsReset === true || isOther || isStrangerInDoubt(record, observation)
}

export function stepsOfReboot(situation: Situation): readonly Sentence[] {
  return [
    say`each of ${allOf(askedMembers(situation).map(instanceOf))} leaves what is left of the group and promises epoch ${situation.record.epoch + 1}`,
    say`the one that holds everything forms the group anew, the others join it, the route moves`,
  ]
}
