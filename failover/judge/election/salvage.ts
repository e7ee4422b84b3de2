import type { MemberId } from '#topology/snapshot/member.ts'
import { fetchKey } from '#failover/protocol/order.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import { isDeadHolder, outsiders } from './elected-set.ts'
import { whyUnfit } from './election.ts'
import { isServing, liveView, type LiveView, type Situation } from '../situation.ts'

/**
 * Salvage (docs/why/decisions/0025): in a mode where no replica acknowledges, only the volume of a dead primary surely
 * has every acknowledged write. Its agent gives what the elected one lacks.
 */

/**
 * Candidates after a failover: the sync set. Where the dead primary gives the rest, the candidates are all instances
 * against which nothing speaks: what a candidate lacks is known from the promise of the primary's agent.
 */
export function candidatesIn(situation: Situation): readonly MemberId[] {
  const { record, spec } = situation
  return salvages(spec) ? [...record.syncSet, ...outsiders(situation)] : record.syncSet
}

/** Down, and its agent has promised and read its binlog: it can give what it has to a candidate that had no trouble. */
export function givesItsTail(
  { spec, record, failedRequests }: Situation,
  view: LiveView,
  candidate: MemberId,
): boolean {
  const { member } = view.observation
  return (
    salvages(spec) &&
    member === record.primary &&
    isDeadHolder(view) &&
    !failedRequests.has(fetchKey(candidate, member))
  )
}

/** The primary's agent can promise, and somebody could lead with what that agent gives. */
export function canSalvage(situation: Situation): boolean {
  const { spec, record, snapshot, timings } = situation
  const primary = liveView(snapshot, record.primary)
  if (!salvages(spec) || primary === undefined || primary.observation.stored.seeding) return false
  return candidatesIn(situation).some((member) => {
    const view = liveView(snapshot, member)
    return isServing(view, timings) && !view.observation.stored.seeding && whyUnfit(situation, member, view) === null
  })
}
