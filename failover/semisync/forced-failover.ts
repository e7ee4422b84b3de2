import { counted } from '../../src/common/text/words.ts'
import { instanceOf, type InstanceName, type MemberId } from '../../topology/snapshot/member.ts'
import { failoverStep, promiseAction } from './crash-failover.ts'
import { commitTo } from '../flows/commit.ts'
import { step, type FlowStep } from '../flows/step.ts'
import { revocation } from '../judge/durability.ts'
import { lostByPrimary } from '../judge/lost-by-primary.ts'
import { promisedBy, type Promised } from '../judge/promised.ts'
import { elect } from '../judge/election.ts'
import { GtidSet } from '../../topology/gtid/gtid-set.ts'
import { isServing, liveViews, names, type Situation } from '../judge/situation.ts'
import type { Verdict } from '../judge/verdict.ts'

/**
 * A failover a person forces although something acknowledged may be lost: whoever runs promises, and the one that holds
 * the most leads. What could be lost is in the sentence. While a safe failover is possible, that one is done.
 */
export function forcedFailoverStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const { record } = situation
  const next = record.epoch + 1
  const taken = primaryAsItIs(situation, to)
  if (taken !== null) return taken
  const safe = revocation(situation, next).revoked ? failoverStep(situation, verdict, to) : null
  if (safe !== null && !safe.blocked) return safe
  const { members, areOldCopies } = forcedCandidates(situation)
  const promised = members.flatMap((member) => promisedBy(situation, member, next) ?? [])
  const asked = members.filter((member) => promisedBy(situation, member, next) === undefined)
  if (asked.length > 0) {
    return step(
      `forced failover: asking ${names(asked)} to promise epoch ${next}`,
      asked.map((member) => promiseAction(situation, member, next)),
      { revisitMs: 500 },
    )
  }
  const most = promised.reduce((best, { holds }) => (holds.isLargerThan(best) ? holds : best), GtidSet.empty)
  // Where nothing but an old copy is left, whoever accepts the loss accepts that too.
  const electable = areOldCopies ? promised.map(asItIs) : promised
  const { winner, reasons } = elect(situation, electable, to === null ? most : GtidSet.empty, { to, leaving: [] })
  if (winner === null)
    return step(`forced failover: nobody can be promoted`, [], { blocked: true, reasons, revisitMs: 1_000 })
  const missing = [record.primary, ...record.syncSet].filter((member) => !promised.some((one) => one.member === member))
  const why = `forced failover to ${instanceOf(winner.member)}: writes that only ${names(missing)} ${missing.length === 1 ? 'holds' : 'hold'} are given up; ${verdict.sentence}`
  return step(why, [{ kind: 'commit', next: commitTo(situation, winner, promised, winner.holds), why }], { reasons })
}

/** The primary lost something, and a person takes it all the same: whoever holds more counts no more. */
function primaryAsItIs(situation: Situation, to: InstanceName | null): FlowStep | null {
  const { elected: _elected, ...record } = situation.record
  const gone = to === instanceOf(record.primary) ? lostByPrimary(situation) : null
  if (gone === null) return null
  const promises = liveViews(situation.snapshot).map(({ observation }) => observation.stored.promise)
  const epoch = Math.max(record.epoch + 1, ...promises)
  const why = `forced failover to ${to}, which is taken as it is: ${counted(gone.lost.count(), 'transaction')} that ${gone.heldBy} received from it are given up`
  const next = { ...record, epoch, revision: record.revision + 1, syncSet: [], leaving: [], intent: null }
  return step(why, [{ kind: 'commit', next: { ...next, acksWanted: record.acks }, why }])
}

/** Who may be asked to lead by force: whoever runs and is no old copy, or old copies where nothing else is left. */
export function forcedCandidates({ record, snapshot, timings }: Situation): {
  readonly members: readonly MemberId[]
  readonly areOldCopies: boolean
} {
  const candidates = liveViews(snapshot).filter(
    (view) =>
      view.observation.member !== record.primary && !view.observation.stored.seeding && isServing(view, timings),
  )
  const known = candidates.filter(({ past }) => past === undefined)
  const sound = known.filter(({ observation }) => !observation.stored.fromThePast)
  const areOldCopies = sound.length === 0
  return { members: (areOldCopies ? known : sound).map((view) => view.observation.member), areOldCopies }
}

function asItIs(promised: Promised): Promised {
  const { observation } = promised.view
  return {
    ...promised,
    view: { ...promised.view, observation: { ...observation, stored: { ...observation.stored, fromThePast: false } } },
  }
}
