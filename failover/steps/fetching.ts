import { counted, joined, say, text, type Said } from '#common/sentence/sentence.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Revocation } from '../judge/election/durability.ts'
import type { Election } from '../judge/election/election.ts'
import type { Promised } from '../judge/election/promised.ts'
import { endpointOf, isLive, isServing, viewNamed, type Situation } from '../judge/situation.ts'
import { givesItsTail } from '../judge/election/salvage.ts'
import { fetchKey, salvageTakes, type FetchOrder } from '../protocol/order.ts'
import { nextRecord, recordedMembers } from '../protocol/record.ts'
import { orderFor } from './assignments.ts'
import { failing, type FlowStep } from './step.ts'

/** Somebody who is there fetches. The answer of one that is gone may take half an hour. */
export function isFetching({ inFlight, snapshot }: Situation): boolean {
  return [...inFlight].some(([name, { order }]) => order === 'fetch' && isLive(viewNamed(snapshot, name)))
}

/**
 * A running member that has everything of the union that the candidate lacks, and has not failed to give it. The dead
 * primary comes last, where its agent gives its tail.
 */
export function sourceFor(
  situation: Situation,
  promised: readonly Promised[],
  candidate: Promised,
  union: GtidSet,
): Promised | undefined {
  const lacking = union.subtract(candidate.holds)
  const holding = promised.filter(({ member, holds }) => member !== candidate.member && holds.contains(lacking))
  const able = holding.filter(({ view }) => isServing(view, situation.timings))
  return (
    able.find(({ member }) => !situation.failedRequests.has(fetchKey(candidate.member, member))) ??
    holding.find(({ view }) => givesItsTail(situation, view, candidate.member))
  )
}

/** Fetches of this candidate that failed, as a sentence; '' when none did. */
export function failedFetches({ failedRequests, record }: Situation, candidate: MemberId): Said {
  const sources = recordedMembers(record).filter((member) => failedRequests.has(fetchKey(candidate, member)))
  const failed = sources.map(
    (member) =>
      say`${instanceOf(candidate)} could not fetch what it lacks from ${instanceOf(member)} (${text(failedRequests.get(fetchKey(candidate, member))?.why ?? '')})`,
  )
  return joined(failed, ', ')
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
    const why = say`${name} will fetch what it lacks before it is promoted`
    return failing(say`failing over: ${why}`, [{ kind: 'commit', next, why }], { reasons: election.reasons })
  }
  const salvage = !isServing(from.view, situation.timings)
  const order: FetchOrder = {
    ...orderFor(situation, candidate.member, record.epoch + 1),
    from: endpointOf(from.view),
    until: revoked.union.toString(),
    deadlineMs: situation.timings.orderDeadlineMs * (salvage ? salvageTakes : 1),
    ...(salvage && { salvage: from.member }),
  }
  const where = salvage ? say`the volume of ${instanceOf(from.member)}` : instanceOf(from.member)
  return failing(
    say`failing over: ${name} fetches ${counted(lacking.count(), 'transaction')} from ${where}`,
    [{ kind: 'fetch', to: name, order }],
    { reasons: election.reasons },
  )
}
