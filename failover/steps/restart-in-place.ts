import { recordedMembers } from '../protocol/record.ts'
import { command, counted, joined, say, type Said, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import { standsStill } from '../judge/election/elected-set.ts'
import { byForce } from '../judge/election/forced-candidates.ts'
import { isBinlogUnread, lostByPrimary, type LostByPrimary } from '../judge/data/lost-by-primary.ts'
import { hasPromised, isLive, liveView, names, viewNamed, type Situation } from '../judge/situation.ts'
import { bringBack } from '../judge/election/starting.ts'
import type { Verdict } from '../judge/primary/verdict.ts'
import { assignmentOrders } from './assignments.ts'
import { bump } from './commit.ts'
import { failing, step, type FlowStep } from './step.ts'

/**
 * Too few can promise: if the primary's own agent is there, its server starts again where it was; nothing is lost by
 * that.
 */
export function restartInPlace(
  situation: Situation,
  verdict: Verdict,
  missing: Said,
  reasons: readonly Sentence[] = [],
): FlowStep {
  const { record, timings } = situation
  if (verdict.kind === 'unable') return standStill(situation, verdict, reasons)
  // A restart would only make it wait longer.
  if (verdict.opening !== undefined)
    return step(say`no failover: ${verdict.sentence}, and ${missing}`, [], {
      blocked: true,
      reasons,
      revisitMs: 1_000,
    })
  const unheard = unheardYet(situation)
  if (unheard.length > 0) {
    const sentence = say`failing over: ${verdict.sentence}; this manager has just begun and waits for a word of ${names(unheard)}`
    return failing(sentence, [], { reasons, revisitMs: timings.heartbeatMs })
  }
  const name = instanceOf(record.primary)
  const view = situation.snapshot.instances.find((candidate) => candidate.observation?.member === record.primary)
  if (!isLive(view)) return waitsForMissing(situation, verdict, missing, reasons)
  const gone = lostByPrimary(situation)
  if (gone !== null) return staysDown(situation, verdict, gone, missing)
  if (isBinlogUnread(situation)) {
    const sentence = say`restarting ${name} in place once its binlog is read: ${verdict.sentence}, and ${missing}`
    return step(sentence, [], { flow: 'restart', reasons, blocked: true, revisitMs: timings.heartbeatMs })
  }
  if (hasPromised(record, view.observation))
    return bump(situation, say`${name} promised epoch ${view.observation.stored.promise}; giving it back`)
  const sentence = say`restarting ${name} in place: ${verdict.sentence}, and ${missing}`
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
  missing: Said,
  reasons: readonly Sentence[],
): FlowStep {
  const { record, requests, snapshot } = situation
  const name = instanceOf(record.primary)
  // A person who asked knows that it is not automatic.
  const what = requests.some(({ kind }) => kind === 'failover') ? say`no failover` : say`no automatic failover`
  const isPast = viewNamed(snapshot, name)?.past === record.primary
  const asItIs = isPast ? say` (with --to ${name} it is taken as it is now)` : ''
  const back = joined(namesOf(situation, missingMembers(situation)), ', ')
  const force = say`give up what they hold: ${byForce(situation)}${asItIs}`
  const sentence = say`${what}: ${verdict.sentence}; ${missing}; ${bringBack(situation, back, force)}`
  return step(sentence, [], { blocked: true, reasons, revisitMs: 1_000 })
}

/** A start would let clients in without what was acknowledged to them. */
function staysDown(situation: Situation, verdict: Verdict, { lost, heldBy }: LostByPrimary, missing: Said): FlowStep {
  const name = instanceOf(situation.record.primary)
  const lacks = say`${name} lacks ${counted(lost.count(), 'transaction')} that ${heldBy} received from it, and is not started again`
  const others = missingMembers(situation).filter((member) => member !== situation.record.primary)
  const back = joined([say`the volume of ${name} as it was`, ...namesOf(situation, others)], ', ')
  const use = command('failover', '--accept-loss')
  const force = say`give up what they hold: ${use} (with --to ${name} it is taken as it is now)`
  const sentence = say`no automatic failover: ${verdict.sentence}; ${lacks}; ${missing}; ${bringBack(situation, back, force)}`
  return step(sentence, [], { blocked: true, revisitMs: 1_000 })
}

/** A restart gives nothing back of what an elected primary lacks. */
function standStill(situation: Situation, verdict: Verdict, reasons: readonly Sentence[]): FlowStep {
  return step(standsStill(situation, verdict.sentence, byForce(situation)), [], {
    blocked: true,
    reasons,
    revisitMs: 1_000,
  })
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

/** A member whose volume went back in time answers, and what is missing is what its volume was. */
function namesOf(situation: Situation, members: readonly MemberId[]): readonly Sayable[] {
  return members.map((member) => {
    const name = instanceOf(member)
    return viewNamed(situation.snapshot, name)?.past === member ? say`the volume of ${name} as it was` : name
  })
}

function missingMembers(situation: Situation): readonly MemberId[] {
  const { record } = situation
  return recordedMembers(record).filter((member) => {
    const view = liveView(situation.snapshot, member)
    return view === undefined || view.observation.stored.forgetful
  })
}
