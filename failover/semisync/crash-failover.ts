import { counted, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { salvages } from '../protocol/mode-name.ts'
import { fetchKey } from '../protocol/order.ts'
import { candidatesIn, canSalvage } from '../judge/election/salvage.ts'
import { commitTo, leaveCandidate } from '../steps/commit.ts'
import { failedFetches, fetchFirst, isFetching, sourceFor } from '../steps/fetching.ts'
import { promiseAction, stragglers } from '../steps/promising.ts'
import { restartInPlace } from '../steps/restart-in-place.ts'
import { failing, type FlowStep } from '../steps/step.ts'
import { acceptedLossStep } from './accepted-loss.ts'
import { isUnsettled, revocation, revocationQuorum, type Revocation } from '../judge/election/durability.ts'
import { primaryThatIsDown } from '../judge/data/lost-by-primary.ts'
import { promisedBy, type Promised } from '../judge/election/promised.ts'
import { elect, preferredOf, whyUnfit, type Election } from '../judge/election/election.ts'
import { electedSetOf, outsiders } from '../judge/election/elected-set.ts'
import { departing, isFar, isServing, liveView, names, type Situation } from '../judge/situation.ts'
import { hearingOf, type Verdict } from '../judge/primary/verdict.ts'

/**
 * A step of a failover: revoke, elect, commit (docs/why/safety.md, "A failover, and why each step keeps the
 * invariant"). The function is called again after each observation until the record has moved. Every step follows from
 * what members have promised, so that any manager can go on where another died.
 */
export function failoverStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const revoked = revocation(situation, situation.record.epoch + 1)
  if (revoked.revoked) return electAndCommit(situation, verdict, revoked, to)
  if (salvages(situation.spec)) return salvagingStep(situation, verdict, to)
  if (isUnsettled(situation) && verdict.kind !== 'unable' && !tailIsHeld(situation))
    return restartInPlace(
      situation,
      verdict,
      say`its last writes may have been acknowledged and no replica that could lead holds them all`,
    )
  if (!enoughCould(situation, verdict)) return restartInPlace(situation, verdict, revoked.missing)
  if (notYetPromised(situation, verdict).length > 0) return askForPromises(situation, verdict, to)
  return restartInPlace(
    situation,
    verdict,
    say`nobody who could lead can get all that its last writes may have acknowledged`,
  )
}

/** Nobody acknowledged, so that the primary's own agent must promise: its binlog gives what the others lack. */
function salvagingStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const { missing } = revocation(situation, situation.record.epoch + 1)
  if (!canSalvage(situation)) return acceptedLossStep(situation, verdict) ?? restartInPlace(situation, verdict, missing)
  if (notYetPromised(situation, verdict).length > 0) return askForPromises(situation, verdict, to)
  return restartInPlace(situation, verdict, say`nobody who could lead can get what only its volume has`)
}

/**
 * Null while the epoch is not revoked: what was acknowledged is not known yet. Where the dead primary gives what others
 * lack, nobody else may lead by force before.
 */
export function safeFailoverStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep | null {
  const isRevoked = revocation(situation, situation.record.epoch + 1).revoked
  return isRevoked || canSalvage(situation) ? failoverStep(situation, verdict, to) : null
}

function askForPromises(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const next = situation.record.epoch + 1
  const able = notYetPromised(situation, verdict)
  const likely = likelyWinner(situation, to)
  const sentence = say`failing over: ${verdict.sentence}; asking ${names(able)} to promise epoch ${next}`
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
  const fit = candidatesIn(situation).filter((member) => {
    const view = liveView(situation.snapshot, member)
    return (
      view !== undefined && whyUnfit(situation, member, view) === null && (to === null || instanceOf(member) === to)
    )
  })
  const staying = fit.filter((member) => !leaving.includes(instanceOf(member)))
  return preferredOf(situation, staying.length > 0 ? staying : fit)
}

/**
 * Members that can promise, whose promise is of use and has not come yet. First come members of S, then the primary's
 * own agent where its word is needed. The primary's agent is asked only once it is known that somebody can lead: else
 * it would have to be given the next epoch back, and be asked again, for ever. Outsiders come before the primary, where
 * no member of S that promised may lead and holds what the primary was elected for.
 */
function notYetPromised(situation: Situation, verdict: Verdict): readonly MemberId[] {
  const { record } = situation
  const missing = (member: MemberId): boolean =>
    promisedBy(situation, member, record.epoch + 1) === undefined && canPromise(situation, member)
  const first = candidatesIn(situation).filter(missing)
  if (isAskedAtOnce(situation) && missing(record.primary)) return [...first, record.primary]
  if (isAskedFirst(situation) && missing(record.primary)) return [record.primary]
  const members = first.length > 0 ? first : outsidersNeeded(situation)
  if (members.length > 0 || !isPrimaryNeeded(situation, verdict) || !missing(record.primary)) return members
  return couldElect(situation) ? [record.primary] : []
}

/**
 * The primary's agent has to promise in any case, somebody could lead with what that agent gives, and nothing that runs
 * is ended by the promise.
 */
function isAskedAtOnce(situation: Situation): boolean {
  return canSalvage(situation) && primaryThatIsDown(situation) !== undefined
}

/**
 * A far primary that hangs, and that replicas hear, is ended before they are asked: a promise makes them hear nobody,
 * and where its agent loses the host meanwhile, their silence would speak for a death that nobody saw.
 */
function isAskedFirst(situation: Situation): boolean {
  return (
    isFar(situation) && canSalvage(situation) && hearingOf(situation, instanceOf(situation.record.primary)).length > 0
  )
}

/** The word of the primary's own agent: where only that tells what clients were told. */
function isPrimaryNeeded(situation: Situation, verdict: Verdict): boolean {
  return (
    salvages(situation.spec) || isUnsettled(situation) || (verdict.kind === 'unable' && !enoughOfSyncSet(situation))
  )
}

/** An outsider that is down promises without being started, and is not asked again before it reports. */
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

/**
 * Whether a member that promised could lead if the primary's agent promised too: the member has the primary's binlog,
 * or can fetch it.
 */
function couldElect(situation: Situation): boolean {
  const { record, snapshot } = situation
  const tail = parseGtidSet(liveView(snapshot, record.primary)?.observation.binlogSet ?? '')
  const members = candidatesIn(situation)
    .flatMap((member) => promisedBy(situation, member, record.epoch + 1) ?? [])
    .filter(({ view }) => !view.observation.stored.forgetful)
  const union = members.reduce((all, { holds }) => all.union(holds), tail.union(electedSetOf(record)))
  const promised = [
    ...members,
    ...outsiders(situation).flatMap((member) => promisedBy(situation, member, record.epoch + 1) ?? []),
  ]
  const { winner, mustFetch } = elect(situation, promised, union, { to: null, leaving: [] })
  if (mustFetch === null) return winner !== null
  const mayGive = salvages(situation.spec) && !situation.failedRequests.has(fetchKey(mustFetch.member, record.primary))
  return mayGive || sourceFor(situation, promised, mustFetch, union) !== undefined
}

/**
 * Some member of S that could lead holds everything in the dead primary's binlog, as far as its agent has read that.
 * A dead server writes no more, and a member receives no more of it: an older look at the member shows less.
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

function electAndCommit(
  situation: Situation,
  verdict: Verdict,
  revoked: Revocation,
  to: InstanceName | null,
): FlowStep {
  const election = elect(situation, revoked.promised, revoked.union, {
    to,
    leaving: departing(situation),
    ...(to !== null && to === verdict.opening?.successor ? { because: say`${to} opens sooner` } : {}),
  })
  if (election.winner) return commitWinner(situation, verdict, { ...election, winner: election.winner }, revoked)
  if (isFetching(situation))
    return failing(say`failing over: ${verdict.sentence}; waiting for what is being fetched`, [], {
      reasons: election.reasons,
    })
  // Somebody who has not promised yet may hold everything: cheaper than any fetch, and the primary's own word alone
  // elects nobody.
  if (notYetPromised(situation, verdict).length > 0)
    return { ...askForPromises(situation, verdict, to), reasons: election.reasons }
  return (
    (election.mustFetch && fetchFirst(situation, revoked, election.mustFetch, election)) ??
    restartInPlace(situation, verdict, whyNobody(situation, election), election.reasons)
  )
}

function whyNobody(situation: Situation, { mustFetch }: Election): Sentence {
  const failed = mustFetch === null ? '' : failedFetches(situation, mustFetch.member)
  return failed === '' ? say`nobody who promised may be promoted` : failed
}

function commitWinner(
  situation: Situation,
  verdict: Verdict,
  { winner, reasons }: Election & { winner: Promised },
  { promised, union }: Revocation,
): FlowStep {
  const { intent } = situation.record
  if (intent && intent.candidate !== winner.member) return leaveCandidate(situation, winner.member)
  const late = stragglers(situation)
  if (late !== null)
    return failing(say`failing over to ${instanceOf(winner.member)} as soon as the others have promised`, [], {
      revisitMs: late,
    })
  const sentence = say`failing over to ${instanceOf(winner.member)}, which holds everything acknowledged${butFor(situation, winner)}: ${verdict.sentence}`
  return failing(sentence, [{ kind: 'commit', next: commitTo(situation, winner, promised, union), why: sentence }], {
    reasons,
  })
}

/** What another hand gave the primary past its binlog no replica was ever sent: the old primary alone has it. */
function butFor({ passedOver, record }: Situation, { member, holds }: Promised): Said {
  const lacking = parseGtidSet(passedOver.get(instanceOf(member)) ?? '').subtract(holds)
  if (lacking.isEmpty()) return ''
  return say`, but for ${counted(lacking.count(), 'transaction')} that ${instanceOf(record.primary)} never sent (${text(lacking.toString().slice(0, 120))})`
}
