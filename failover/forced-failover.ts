import type { InstanceName } from '../topology/member.ts'
import { instanceOf } from '../topology/member.ts'
import { commitTo, failoverStep, promiseAction, step, type FlowStep } from './crash-failover.ts'
import { promisedBy, revocation, type Promised } from './durability.ts'
import { elect } from './election.ts'
import { GtidSet } from '../topology/gtid-set.ts'
import { isServing, liveViews, names, type Situation } from './situation.ts'
import type { Verdict } from './verdict.ts'

/**
 * A failover a person forces although something acknowledged may be lost: whoever runs promises, and the one that holds the most leads. What
 * could be lost is in the sentence. While a safe failover is possible, that one is done.
 */
export function forcedFailoverStep(situation: Situation, verdict: Verdict, to: InstanceName | null): FlowStep {
  const { record } = situation
  const next = record.epoch + 1
  const safe = revocation(situation, next).revoked ? failoverStep(situation, verdict, to) : null
  if (safe !== null && !safe.blocked) return safe
  const candidates = liveViews(situation.snapshot).filter((view) => view.observation.member !== record.primary && !view.observation.stored.seeding && isServing(view, situation.timings))
  const known = candidates.filter(({ past }) => past === undefined)
  const sound = known.filter(({ observation }) => !observation.stored.fromThePast)
  const members = (sound.length > 0 ? sound : known).map((view) => view.observation.member)
  const promised = members.flatMap((member) => promisedBy(situation, member, next) ?? [])
  const asked = members.filter((member) => promisedBy(situation, member, next) === undefined)
  if (asked.length > 0) {
    return step(`forced failover: asking ${names(asked)} to promise epoch ${next}`, asked.map((member) => promiseAction(situation, member, next)), { revisitMs: 500 })
  }
  const most = promised.reduce((best, { holds }) => (holds.isLargerThan(best) ? holds : best), GtidSet.empty)
  // Where nothing but an old copy is left, whoever accepts the loss accepts that too.
  const electable = sound.length > 0 ? promised : promised.map(asItIs)
  const { winner, reasons } = elect(situation, electable, to === null ? most : GtidSet.empty, { to, leaving: [] })
  if (winner === null) return step(`forced failover: nobody can be promoted`, [], { blocked: true, reasons, revisitMs: 1_000 })
  const missing = [record.primary, ...record.syncSet].filter((member) => !promised.some((one) => one.member === member))
  const why = `forced failover to ${instanceOf(winner.member)}: writes that only ${names(missing)} hold are given up; ${verdict.sentence}`
  return step(why, [{ kind: 'commit', next: commitTo(situation, winner, promised, winner.holds), why }], { reasons })
}

function asItIs(promised: Promised): Promised {
  const { observation } = promised.view
  return { ...promised, view: { ...promised.view, observation: { ...observation, stored: { ...observation.stored, fromThePast: false } } } }
}
