import { bringBack } from '../judge/starting.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import { counted } from '#common/text/words.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { orderFor, assignmentOrders } from '../flows/assignments.ts'
import type { Action } from '../protocol/decision.ts'
import { isUnsettled, revocation, revocationQuorum, type Revocation } from '../judge/durability.ts'
import { promisedBy, type Promised } from '../judge/promised.ts'
import { isBinlogUnread, lostByPrimary, type LostByPrimary } from '../judge/lost-by-primary.ts'
import { elect, preferredOf, whyUnfit, type Election } from '../judge/election.ts'
import { electedSetOf, outsiders, standsStill } from '../judge/elected-set.ts'
import { fetchKey, type PromiseOrder } from '../protocol/order.ts'
import { nextRecord } from '../protocol/record.ts'
import {
  departing,
  endpointOf,
  isLive,
  isServing,
  liveView,
  names,
  viewNamed,
  type Situation,
} from '../judge/situation.ts'
import type { Verdict } from '../judge/verdict.ts'
import { step, type FlowStep } from '../flows/step.ts'
import { bump, commitTo, dropIntent } from '../flows/commit.ts'

function failing(sentence: string, actions: readonly Action[], more: Partial<FlowStep> = {}): FlowStep {
  return step(sentence, actions, { ...more, flow: 'failover' })
}

/**
 * One step of a failover: revoke, elect, commit (docs/why/safety.md, "A failover, and why each step keeps the
 * invariant"). Called again after each observation until the record has moved; every step follows from what members
 * have promised, so that any manager can go on where another died.
 */
export function failoverStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const revoked = revocation(situation, situation.record.epoch + 1)
  if (revoked.revoked) return electAndCommit(situation, verdict, revoked, to)
  if (isUnsettled(situation) && verdict.kind !== 'unable' && !tailIsHeld(situation))
    return restartInPlace(situation, verdict, {
      missing: 'its last writes may have been acknowledged and no replica that could lead holds them all',
    })
  if (!enoughCould(situation, verdict)) return restartInPlace(situation, verdict, revoked)
  if (notYetPromised(situation, verdict).length > 0) return askForPromises(situation, verdict, to)
  return restartInPlace(situation, verdict, {
    missing: 'nobody who could lead can get all that its last writes may have acknowledged',
  })
}

function askForPromises(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const next = situation.record.epoch + 1
  const able = notYetPromised(situation, verdict)
  const likely = likelyWinner(situation, to)
  const sentence = `failing over: ${verdict.sentence}; asking ${names(able)} to promise epoch ${next}`
  return failing(
    sentence,
    able.map((member) => promiseAction(situation, member, next, member === likely ? { prepare: true } : {})),
  )
}

/**
 * Whom the election would choose if all held the same, which they do nearly always: it makes ready to lead while the
 * others promise.
 */
function likelyWinner(situation: Situation, to: InstanceName | null): MemberId | null {
  const leaving = departing(situation)
  const fit = situation.record.syncSet.filter((member) => {
    const view = liveView(situation.snapshot, member)
    return (
      view !== undefined && whyUnfit(situation, member, view) === null && (to === null || instanceOf(member) === to)
    )
  })
  const staying = fit.filter((member) => !leaving.includes(instanceOf(member)))
  return preferredOf(situation, staying.length > 0 ? staying : fit)
}

/**
 * Who can promise and whose promise is of use, and has not come yet: members of S, and then the primary's own agent
 * where its word is needed. That one is not asked before it is known that somebody can lead: it would have to be given
 * the next epoch back, and be asked again, for ever. Before that outsiders, where nobody of S who promised may lead and
 * holds what the primary was elected for.
 */
function notYetPromised(situation: Situation, verdict: Verdict): readonly MemberId[] {
  const { record } = situation
  const missing = (member: MemberId): boolean =>
    promisedBy(situation, member, record.epoch + 1) === undefined && canPromise(situation, member)
  const first = record.syncSet.filter(missing)
  const members = first.length > 0 ? first : outsidersNeeded(situation)
  const isNeeded = isUnsettled(situation) || (verdict.kind === 'unable' && !enoughOfSyncSet(situation))
  if (members.length > 0 || !isNeeded || !missing(record.primary)) return members
  return couldElect(situation) ? [record.primary] : []
}

/** One that is down promises without being started, and is not asked again before it reports. */
function outsidersNeeded(situation: Situation): readonly MemberId[] {
  const { record, snapshot } = situation
  const next = record.epoch + 1
  const elected = electedSetOf(record)
  const promised = [...record.syncSet, ...outsiders(situation)].flatMap(
    (member) => promisedBy(situation, member, next) ?? [],
  )
  if (elected.isEmpty() || elect(situation, promised, elected, { to: null, leaving: [] }).winner !== null) return []
  return outsiders(situation).filter((member) => {
    const view = liveView(snapshot, member)
    if (view === undefined || promisedBy(situation, member, next) !== undefined) return false
    const { process, stored } = view.observation
    const isDown = process === 'dead' || process === 'absent'
    return isDown ? stored.promise < next || stored.revision < record.revision : canPromise(situation, member)
  })
}

/** Somebody who promised could lead if the primary's agent promised too: it has that one's binlog, or can fetch it. */
function couldElect(situation: Situation): boolean {
  const { record, snapshot } = situation
  const tail = parseGtidSet(liveView(snapshot, record.primary)?.observation.binlogSet ?? '')
  const members = record.syncSet
    .flatMap((member) => promisedBy(situation, member, record.epoch + 1) ?? [])
    .filter(({ view }) => !view.observation.stored.forgetful)
  const union = members.reduce((all, { holds }) => all.union(holds), tail.union(electedSetOf(record)))
  const promised = [
    ...members,
    ...outsiders(situation).flatMap((member) => promisedBy(situation, member, record.epoch + 1) ?? []),
  ]
  const { winner, mustFetch } = elect(situation, promised, union, { to: null, leaving: [] })
  return winner !== null || (mustFetch !== null && sourceFor(situation, promised, mustFetch, union) !== undefined)
}

/** Who runs, has everything of the union that the candidate lacks, and has not failed to give it. */
function sourceFor(
  situation: Situation,
  promised: readonly Promised[],
  candidate: Promised,
  union: GtidSet,
): Promised | undefined {
  const lacking = union.subtract(candidate.holds)
  const able = promised.filter(
    ({ member, holds, view }) =>
      member !== candidate.member && isServing(view, situation.timings) && holds.contains(lacking),
  )
  return able.find(({ member }) => !situation.failedRequests.has(fetchKey(candidate.member, member)))
}

/** Fetches of this candidate that failed, as a sentence; '' when none did. */
function failedFetches({ failedRequests, record }: Situation, candidate: MemberId): string {
  const sources = [record.primary, ...record.syncSet].filter((member) =>
    failedRequests.has(fetchKey(candidate, member)),
  )
  return sources
    .map(
      (member) =>
        `${instanceOf(candidate)} could not fetch what it lacks from ${instanceOf(member)} (${failedRequests.get(fetchKey(candidate, member))?.why ?? ''})`,
    )
    .join(', ')
}

/**
 * Some member of S that could lead holds everything in the dead primary's binlog, as far as its agent has read that.
 */
function tailIsHeld(situation: Situation): boolean {
  const tail = liveView(situation.snapshot, situation.record.primary)?.observation.binlogSet
  if (tail === null || tail === undefined) return false
  return situation.record.syncSet.some((member) => {
    const view = liveView(situation.snapshot, member)
    return (
      isServing(view, situation.timings) &&
      whyUnfit(situation, member, view) === null &&
      holdsOf(view.observation).contains(parseGtidSet(tail))
    )
  })
}

function canPromise(situation: Situation, member: MemberId): boolean {
  const view = liveView(situation.snapshot, member)
  if (view === undefined || view.observation.stored.seeding) return false
  return member === situation.record.primary || isServing(view, situation.timings)
}

/**
 * Whether those who can be asked, with those who promised already, would suffice. A primary that cannot open is there
 * to be asked, and takes no writes.
 */
function enoughCould(situation: Situation, verdict: Verdict): boolean {
  if (verdict.kind === 'unable' && canPromise(situation, situation.record.primary)) return true
  return enoughOfSyncSet(situation) && (!isUnsettled(situation) || canPromise(situation, situation.record.primary))
}

function enoughOfSyncSet(situation: Situation): boolean {
  const quorum = revocationQuorum(situation.record)
  if (quorum === null) return false
  const able = situation.record.syncSet.filter(
    (member) => canPromise(situation, member) && !liveView(situation.snapshot, member)?.observation.stored.forgetful,
  )
  return able.length >= quorum
}

export function promiseAction(
  situation: Situation,
  member: MemberId,
  epoch: number,
  how: Partial<PromiseOrder> = {},
): Action {
  return {
    kind: 'promise',
    to: instanceOf(member),
    order: { ...orderFor(situation, member, epoch), after: '', waitMs: 0, ...how },
  }
}

function electAndCommit(
  situation: Situation,
  verdict: Verdict,
  revoked: Revocation,
  to: InstanceName | null,
): FlowStep {
  const election = elect(situation, revoked.promised, revoked.union, {
    to,
    leaving: departing(situation),
    ...(to !== null && to === verdict.opening?.successor ? { because: `${to} opens sooner` } : {}),
  })
  if (election.winner) return commitWinner(situation, verdict, { ...election, winner: election.winner }, revoked)
  if (isFetching(situation))
    return failing(`failing over: ${verdict.sentence}; waiting for what is being fetched`, [], {
      reasons: election.reasons,
    })
  // Somebody who has not promised yet may hold everything: cheaper than any fetch, and the primary's own word alone
  // elects nobody.
  if (notYetPromised(situation, verdict).length > 0)
    return { ...askForPromises(situation, verdict, to), reasons: election.reasons }
  return (
    (election.mustFetch && fetchFirst(situation, revoked, election.mustFetch, election)) ??
    restartInPlace(situation, verdict, { missing: whyNobody(situation, election) }, election.reasons)
  )
}

function whyNobody(situation: Situation, { mustFetch }: Election): string {
  const failed = mustFetch === null ? '' : failedFetches(situation, mustFetch.member)
  return failed === '' ? 'nobody who promised may be promoted' : failed
}

function commitWinner(
  situation: Situation,
  verdict: Verdict,
  { winner, reasons }: Election & { winner: Promised },
  { promised, union }: Revocation,
): FlowStep {
  const { intent } = situation.record
  // A late fetch could still change that other candidate after it was counted into S′ (model: NO_INTENT).
  if (intent && intent.candidate !== winner.member)
    return dropIntent(situation, `${instanceOf(winner.member)} holds everything`)
  const late = stragglers(situation)
  if (late !== null)
    return failing(`failing over to ${instanceOf(winner.member)} as soon as the others have promised`, [], {
      revisitMs: late,
    })
  const sentence = `failing over to ${instanceOf(winner.member)}, which holds everything acknowledged${butFor(situation, winner)}: ${verdict.sentence}`
  return failing(sentence, [{ kind: 'commit', next: commitTo(situation, winner, promised, union), why: sentence }], {
    reasons,
  })
}

/** What another hand gave the primary past its binlog no replica was ever sent: the old primary alone has it. */
function butFor({ passedOver, record }: Situation, { member, holds }: Promised): string {
  const lacking = parseGtidSet(passedOver.get(instanceOf(member)) ?? '').subtract(holds)
  if (lacking.isEmpty()) return ''
  return `, but for ${counted(lacking.count(), 'transaction')} that ${instanceOf(record.primary)} never sent (${lacking.toString().slice(0, 120)})`
}

export function isFetching({ inFlight }: Situation): boolean {
  return [...inFlight.values()].some(({ order }) => order === 'fetch')
}

/** Taken out before promises are asked for: another manager's intent, and a switchover whose primary is lost. */
export function withoutForeignIntent(situation: Situation): FlowStep | undefined {
  const { intent } = situation.record
  const inTheWay = intent !== null && (intent.by !== situation.manager || intent.kind === 'switchover')
  return inTheWay ? dropIntent(situation, 'the primary is lost') : undefined
}

/** Milliseconds a commit still waits for promises under way; null when there is nothing to wait for. */
export function stragglers({ inFlight, nowMs, timings }: Situation): number | null {
  const waits = [...inFlight.values()]
    .filter(({ order }) => order === 'promise')
    .map(({ sinceMs }) => sinceMs + timings.stragglerMs - nowMs)
  const longest = Math.max(0, ...waits)
  return longest > 0 ? longest : null
}

/**
 * What the candidate lacks it fetches from the member that has it, under an intent put into the record first; undefined
 * when nobody who has it runs, or whoever has it could not give it.
 */
export function fetchFirst(
  situation: Situation,
  revoked: Pick<Revocation, 'promised' | 'union'>,
  candidate: Promised,
  election: Election,
): FlowStep | undefined {
  const { record, manager } = situation
  const name = instanceOf(candidate.member)
  const from = sourceFor(situation, revoked.promised, candidate, revoked.union)
  if (!from) return undefined
  const lacking = revoked.union.subtract(candidate.holds)
  const mine =
    record.intent?.kind === 'fetch' && record.intent.by === manager && record.intent.candidate === candidate.member
  if (!mine) {
    const next = nextRecord(record, { intent: { kind: 'fetch', by: manager, candidate: candidate.member } })
    const why = `${name} will fetch what it lacks before it is promoted`
    return failing(`failing over: ${why}`, [{ kind: 'commit', next, why }], { reasons: election.reasons })
  }
  const order = {
    ...orderFor(situation, candidate.member, record.epoch + 1),
    from: endpointOf(from.view),
    until: revoked.union.toString(),
    deadlineMs: situation.timings.orderDeadlineMs,
  }
  return failing(
    `failing over: ${name} fetches ${counted(lacking.count(), 'transaction')} from ${instanceOf(from.member)}`,
    [{ kind: 'fetch', to: name, order }],
    { reasons: election.reasons },
  )
}

/**
 * Too few can promise: if the primary's own agent is there, its server starts again where it was; nothing is lost by
 * that.
 */
export function restartInPlace(
  situation: Situation,
  verdict: Verdict,
  revoked: Pick<Revocation, 'missing'>,
  reasons: readonly string[] = [],
): FlowStep {
  const { record, timings } = situation
  if (verdict.kind === 'unable') return standStill(situation, verdict, reasons)
  // A restart would only make it wait longer.
  if (verdict.opening !== undefined)
    return step(`no failover: ${verdict.sentence}, and ${revoked.missing}`, [], {
      blocked: true,
      reasons,
      revisitMs: 1_000,
    })
  const unheard = unheardYet(situation)
  if (unheard.length > 0) {
    const sentence = `failing over: ${verdict.sentence}; this manager has just begun and waits for a word of ${names(unheard)}`
    return failing(sentence, [], { reasons, revisitMs: timings.heartbeatMs })
  }
  const name = instanceOf(record.primary)
  const view = situation.snapshot.instances.find((candidate) => candidate.observation?.member === record.primary)
  if (!isLive(view)) return waitsForMissing(situation, verdict, revoked.missing, reasons)
  const gone = lostByPrimary(situation)
  if (gone !== null) return staysDown(situation, verdict, gone, revoked.missing)
  if (isBinlogUnread(situation)) {
    const sentence = `restarting ${name} in place once its agent has read what its binlog holds: ${verdict.sentence}, and ${revoked.missing}`
    return step(sentence, [], { flow: 'restart', reasons, blocked: true, revisitMs: timings.heartbeatMs })
  }
  if (view.observation.stored.promise > record.epoch)
    return bump(situation, `${name} promised epoch ${view.observation.stored.promise}; giving it back`)
  const sentence = `restarting ${name} in place: ${verdict.sentence}, and ${revoked.missing}`
  return step(sentence, assignmentOrders(situation, { mayRestart: true }), {
    flow: 'restart',
    reasons,
    blocked: true,
    revisitMs: 1_000,
  })
}

/** Nobody here can tell what was acknowledged: it is said who can, and what a person may do without them. */
function waitsForMissing(
  situation: Situation,
  verdict: Verdict,
  missing: string,
  reasons: readonly string[],
): FlowStep {
  const { record, requests, snapshot } = situation
  const name = instanceOf(record.primary)
  // A person who asked knows that it is not automatic.
  const what = requests.some(({ kind }) => kind === 'failover') ? 'no failover' : 'no automatic failover'
  const isPast = viewNamed(snapshot, name)?.past === record.primary
  const asItIs = isPast ? ` (with --to ${name} it is taken as it is now)` : ''
  const sentence = `${what}: ${verdict.sentence}, and ${missing}; ${bringBack(situation, missingNames(situation).join(', '), `giving up what only they may hold, use: regent failover --accept-loss${asItIs}`)}`
  return step(sentence, [], { blocked: true, reasons, revisitMs: 1_000 })
}

/** A start would let clients in without what was acknowledged to them. */
function staysDown(situation: Situation, verdict: Verdict, { lost, heldBy }: LostByPrimary, missing: string): FlowStep {
  const name = instanceOf(situation.record.primary)
  const lacks = `${name} lacks ${counted(lost.count(), 'transaction')} that ${heldBy} received from it, and is not started again`
  const back = [`the volume of ${name} as it was`, ...missingNames(situation)].join(', ')
  const sentence = `no automatic failover: ${verdict.sentence}; ${lacks}; ${missing}; ${bringBack(situation, back, `giving up what only they may hold, use: regent failover --accept-loss (with --to ${name} it is taken as it is now)`)}`
  return step(sentence, [], { blocked: true, revisitMs: 1_000 })
}

/** A restart gives nothing back of what an elected primary lacks. */
function standStill(situation: Situation, verdict: Verdict, reasons: readonly string[]): FlowStep {
  return step(standsStill(situation, verdict.sentence), [], { blocked: true, reasons, revisitMs: 1_000 })
}

/**
 * Members of S that a manager which has just begun to lead has not heard since, for as long as it would wait for an
 * answer: a restart takes seconds, and they may be well.
 */
function unheardYet({ record, snapshot, leadsSinceMs, timings, nowMs }: Situation): readonly MemberId[] {
  if (nowMs - leadsSinceMs >= timings.orderDeadlineMs) return []
  return record.syncSet.filter((member) => {
    const view = viewNamed(snapshot, instanceOf(member))
    return view !== undefined && (view.heardAtMs ?? -Infinity) < leadsSinceMs
  })
}

/** One that went back in time answers, and what is missing is what its volume was. */
function missingNames(situation: Situation): readonly string[] {
  return missingMembers(situation).map((member) => {
    const name = instanceOf(member)
    return viewNamed(situation.snapshot, name)?.past === member ? `the volume of ${name} as it was` : name
  })
}

function missingMembers(situation: Situation): readonly MemberId[] {
  const { record } = situation
  return [record.primary, ...record.syncSet].filter((member) => {
    const view = liveView(situation.snapshot, member)
    return view === undefined || view.observation.stored.forgetful
  })
}
