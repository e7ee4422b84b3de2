import { counted, duration, say, type Sentence } from '#common/sentence/sentence.ts'
import { lackedOf } from '#topology/snapshot/comparison.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { elect } from '../judge/election/election.ts'
import { leaseRunsOutInMs, leaseVoters } from '../judge/primary/lease-out.ts'
import { promisedBy, type Promised } from '../judge/election/promised.ts'
import { candidatesIn } from '../judge/election/salvage.ts'
import { departing, isFar, isLive, isServing, liveView, names, viewOf, type Situation } from '../judge/situation.ts'
import type { Verdict } from '../judge/primary/verdict.ts'
import type { Loss } from '../protocol/notes.ts'
import { nextRecord } from '../protocol/record.ts'
import { commitTo } from '../steps/commit.ts'
import { fetchFirst, isFetching } from '../steps/fetching.ts'
import { promiseAction } from '../steps/promising.ts'
import { failing, type FlowStep } from '../steps/step.ts'

/**
 * A failover without the agent of the lost primary, within what a person accepted ahead of time
 * (`failover.acceptLoss`). What only its volume has cannot be had. Nothing opens before the lease of the lost primary
 * has surely run out; what it still told clients until then is lost as well, and is archived when it comes back. No
 * lease ends a far server: such a server is closed as soon as it answers, and nothing is waited for. Null where that
 * was not accepted, or cannot be.
 */
export function acceptedLossStep(situation: Situation, verdict: Verdict): FlowStep | null {
  const { record, spec, snapshot } = situation
  const { acceptLoss = 'never' } = spec.failover
  if (acceptLoss === 'never' || isLive(viewOf(snapshot, record.primary))) return null
  const able = candidatesIn(situation).filter((member) => canBeAsked(situation, member))
  const promised = able.flatMap((member) => promisedBy(situation, member, record.epoch + 1) ?? [])
  const asked = able.filter((member) => !promised.some((one) => one.member === member))
  if (able.length === 0) return null
  if (asked.length > 0) return ask(situation, verdict, asked)
  return among(situation, verdict, promised)
}

/** What is being seeded holds nothing, and never says what it holds. */
function canBeAsked({ snapshot, timings }: Situation, member: MemberId): boolean {
  const view = liveView(snapshot, member)
  return isServing(view, timings) && !view.observation.stored.seeding
}

function ask(situation: Situation, { sentence }: Verdict, asked: readonly MemberId[]): FlowStep {
  const next = situation.record.epoch + 1
  const why = say`failing over with loss: ${sentence}; asking ${names(asked)} to promise epoch ${next}`
  return failing(
    why,
    asked.map((member) => promiseAction(situation, member, next)),
  )
}

function among(situation: Situation, verdict: Verdict, promised: readonly Promised[]): FlowStep | null {
  const union = promised.reduce((all, { holds }) => all.union(holds), GtidSet.empty)
  const election = elect(situation, promised, union, { to: null, leaving: departing(situation) })
  const best = election.winner ?? election.mustFetch
  if (best === null || whyTooMuch(situation, best) !== null) return null
  const wait = waitForTail(situation, union) ?? waitForLease(situation, verdict, best)
  if (wait !== 'over') return wait
  if (election.winner !== null) return commit(situation, verdict, best, promised)
  if (isFetching(situation)) return failing(say`failing over with loss: waiting for what is being fetched`, [])
  return fetchFirst(situation, { promised, union }, best, election) ?? null
}

/**
 * The agent of the lost primary is waited for: the agent promised, told of more than the others hold (`union`), and was
 * heard a moment ago. Null where nothing is waited for.
 */
function waitForTail({ snapshot, record, timings, nowMs }: Situation, union: GtidSet): FlowStep | null {
  const primary = viewOf(snapshot, record.primary)
  const report = primary?.observation?.promiseReport
  if (primary?.heardAtMs == null || report?.epoch !== record.epoch + 1) return null
  if (parseGtidSet(report.holds).subtract(union).isEmpty()) return null
  const leftMs = primary.heardAtMs + timings.orderDeadlineMs - nowMs
  if (leftMs <= 0) return null
  return failing(
    say`failing over: ${instanceOf(record.primary)} has promised and holds more; its agent is waited for, for ${duration(Math.ceil(leftMs))}`,
    [],
    { revisitMs: leftMs },
  )
}

/**
 * The promises of those who cannot lead and could confirm the lease, the intent by which no manager confirms it any
 * more, then the wait for its end. Null where somebody could still confirm it. No lease ends a far server.
 */
function waitForLease(situation: Situation, verdict: Verdict, { member }: Promised): FlowStep | 'over' | null {
  if (isFar(situation)) return 'over'
  const { record, manager } = situation
  const name = instanceOf(member)
  const { intent } = record
  const voters = leaseVoters(situation)
  if (voters.length > 0) return ask(situation, verdict, voters)
  if (intent?.kind !== 'fetch' || intent.by !== manager || intent.candidate !== member) {
    const why = say`${name} is to lead once the lease of ${instanceOf(record.primary)} has run out`
    const next = nextRecord(record, { intent: { kind: 'fetch', by: manager, candidate: member } })
    return failing(say`failing over with loss: ${why}`, [{ kind: 'commit', next, why }])
  }
  const leftMs = leaseRunsOutInMs(situation)
  if (leftMs === null || leftMs === 0) return leftMs === null ? null : 'over'
  const left = duration(Math.ceil(leftMs))
  return failing(
    say`failing over with loss: ${verdict.sentence}; ${name} waits until the lease has surely run out, for ${left}`,
    [],
    { revisitMs: leftMs },
  )
}

function commit(situation: Situation, verdict: Verdict, best: Promised, promised: readonly Promised[]): FlowStep {
  const loss = lossOf(situation, best)
  const { unheardSeconds: seconds } = loss
  const from = instanceOf(situation.record.primary)
  const unheard = isFar(situation)
    ? say`all that it took in the ${seconds} s since, and takes until it is closed`
    : say`whatever it took in its last ${seconds} s`
  const lost = say`${heardOf(from, loss.transactions)}, and ${unheard}`
  const why = say`failing over to ${instanceOf(best.member)} with a loss that failover.acceptLoss allows: ${lost}; ${verdict.sentence}`
  const next = commitTo(situation, best, promised, best.holds)
  return failing(why, [{ kind: 'commit', next, why, loss }])
}

/**
 * Transactions are those that the lost primary was heard to hold and the new primary does not; null where the lost one
 * did not say. The lost primary may have taken writes of which nobody heard since its own agent saw it last, until now,
 * or until its lease ran out.
 */
interface CountedLoss extends Loss {
  readonly unheardSeconds: number
}

/** @param leastMs for so long it is not heard in any case before another one opens */
function lossOf(situation: Situation, { view, member }: Promised, leastMs = 0): CountedLoss {
  const { snapshot, record } = situation
  const primary = viewOf(snapshot, record.primary)
  const seen = primary?.observation ?? null
  const transactions = seen !== null && saysWhatItHolds(seen) ? lackedOf(view.observation, seen).count() : null
  const behindMs = 1_000 * (liveView(snapshot, member)?.observation.server?.channel?.lagSeconds ?? 0)
  return { transactions, unheardSeconds: Math.ceil((unseenFor(situation, primary, leastMs) + behindMs) / 1_000) }
}

/** What the server took since the look of which its agent tells. A server that is down has taken nothing since. */
function untoldOf(seen: Observation | null): number {
  if (seen === null) return 0
  const { process, processSinceMs, silentMs, lookAgeMs = silentMs } = seen
  if (process === 'running' || process === 'starting') return lookAgeMs
  return process === 'stopped' ? Math.max(lookAgeMs, processSinceMs) : Math.max(0, lookAgeMs - processSinceMs)
}

/** A server that is down has to be asked first what is in its files. */
function saysWhatItHolds({ server, binlogSet, promiseReport }: Observation): boolean {
  return server !== null || binlogSet !== null || promiseReport !== null
}

function heardOf(from: InstanceName, known: number | null): Sentence {
  return known === null ? say`nobody heard what ${from} held` : say`${counted(known, 'transaction')} heard of ${from}`
}

function unseenFor(situation: Situation, primary: InstanceView | undefined, leastMs: number): number {
  const unheardMs = situation.nowMs - (primary?.heardAtMs ?? situation.managerSinceMs)
  return Math.max(leastMs, Math.min(unheardMs, leaseOf(situation))) + untoldOf(primary?.observation ?? null)
}

function leaseOf(situation: Situation): number {
  return isFar(situation) ? Number.POSITIVE_INFINITY : situation.timings.leaseMs
}

/** Null where the loss is within what was accepted. */
function whyTooMuch(situation: Situation, best: Promised): Sentence | null {
  const { acceptLoss, acceptLossUpTo } = situation.spec.failover
  if (acceptLoss === 'always') return null
  // The wait for the lease is part of the time: it is counted before it has passed.
  const { transactions: known, unheardSeconds: seconds } = lossOf(
    situation,
    best,
    isFar(situation) ? 0 : situation.timings.leaseMs,
  )
  if (acceptLossUpTo === undefined) return say`failover.acceptLossUpTo says nothing`
  const { transactions, seconds: mostSeconds } = acceptLossUpTo
  const lost = heardOf(instanceOf(situation.record.primary), known)
  return known !== null && known <= transactions && seconds <= mostSeconds
    ? null
    : say`${lost}, ${seconds} s of writes may be lost, and failover.acceptLossUpTo allows ${transactions} and ${mostSeconds} s`
}
