import { say, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import { electedFor } from '../judge/election/elected-set.ts'
import type { Promised } from '../judge/election/promised.ts'
import { isIntentKept } from '../judge/primary/left-closed.ts'
import { nextRecord, type ClusterRecord } from '../protocol/record.ts'
import { isLive, type Situation } from '../judge/situation.ts'
import { step, type FlowStep } from './step.ts'

/**
 * The record after a change of primary. S′ are members that promised, forgot nothing and have no errant transactions,
 * if at least k of them hold the candidate's whole set; else it is empty and writes wait until they do. If the primary
 * stays the same, S and k stay.
 * @param elected what the election was held for: with less the candidate does not open
 */
export function commitTo(
  situation: Situation,
  candidate: Promised,
  promised: readonly Promised[],
  elected: GtidSet,
): ClusterRecord {
  const { elected: _before, ...record } = situation.record
  const base = nextRecord(record, {
    ...electedFor(elected, parseGtidSet(candidate.report.executed)),
    epoch: record.epoch + 1,
    primary: candidate.member,
    leaving: [],
    acksWanted: record.acks,
    intent: null,
  })
  const others = promised.filter(
    ({ member, view }) => member !== candidate.member && !view.observation.stored.forgetful,
  )
  const pool = others.filter(
    ({ holds, report, view }) =>
      candidate.holds.contains(holds) && canFollow(report.asPrimary, view.observation.process),
  )
  const whole = pool.filter(({ holds }) => holds.contains(candidate.holds))
  return { ...base, syncSet: whole.length >= record.acks ? pool.map(({ member }) => member) : [] }
}

/** A dead old primary has a tail to be trimmed first: it is no member of S′. */
function canFollow(asPrimary: boolean, process: string): boolean {
  return !asPrimary || process === 'running'
}

/** A commit that makes these changes of the record, and nothing else. */
export function changeRecord(
  { record }: Pick<Situation, 'record'>,
  why: Sentence,
  changes: Partial<ClusterRecord>,
): FlowStep {
  return step(why, [{ kind: 'commit', why, next: nextRecord(record, changes) }])
}

/**
 * An intent that no longer leads anywhere is taken out of the record. The commit raises the revision, so that promises
 * must be given again: a member that promises again refuses what was ordered under the intent.
 */
export function dropIntent(situation: Situation, because: Sentence): FlowStep {
  const why = say`the ${situation.record.intent?.kind ?? 'intent'} that was under way is given up: ${because}`
  return changeRecord(situation, why, { intent: null })
}

/**
 * Taken out before promises are asked for: another manager's intent, and a switchover whose primary is lost. Where the
 * intent has to stay, it becomes this manager's: the higher revision ends what was ordered under the intent before.
 */
export function withoutForeignIntent(situation: Situation): FlowStep | undefined {
  const { record, manager } = situation
  const { intent } = record
  if (intent === null || (intent.by === manager && intent.kind !== 'switchover')) return undefined
  if (!isIntentKept(situation)) return dropIntent(situation, say`the primary is lost`)
  if (intent.by === manager) return undefined
  const why = say`the ${intent.kind} that another manager began is taken over: the primary is lost`
  return changeRecord(situation, why, { intent: { ...intent, by: manager } })
}

/**
 * Another one than the candidate of the intent wins. A late fetch could still change that candidate after it was
 * counted into S′ (model: NO_INTENT): the commit raises the revision.
 */
export function leaveCandidate(situation: Situation, winner: MemberId): FlowStep {
  const { intent } = situation.record
  const why = say`${instanceOf(winner)} holds everything`
  if (intent === null || !isIntentKept(situation)) return dropIntent(situation, why)
  return changeRecord(situation, why, { intent: { ...intent, candidate: winner } })
}

/** The same primary, S and k in the next epoch: for members that promised in vain. */
export function bump(situation: Situation, why: Sentence, timedOut = false): FlowStep {
  const { record } = situation
  const promised = situation.snapshot.instances.filter(isLive).map((view) => view.observation.stored.promise)
  const epoch = Math.max(record.epoch + 1, ...promised)
  return step(why, [{ kind: 'commit', why, next: nextRecord(record, { epoch, intent: null }), timedOut }])
}
