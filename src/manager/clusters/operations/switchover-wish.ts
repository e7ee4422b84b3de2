import { command, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Situation } from '#failover/judge/situation.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { OperationRequest } from '#api-contract/operations.ts'

/** Two people, or two cron jobs, who ask for one switchover at once do not hear of each other in less. */
const sameWishMs = 1_000

/**
 * Why a switchover that is asked for now is not what was meant: another one leads than was expected, or the same has
 * just been done for somebody else. Null where neither is so.
 */
export function whyNotMeant(
  { record, notes, wallMs }: Situation,
  { from, to }: Pick<OperationRequest<'switchover'>, 'from' | 'to'>,
): Sentence | null {
  const primary = instanceOf(record.primary)
  if (from !== undefined) return from === primary ? null : say`${primary} is the primary, and not ${from}`
  if (to !== undefined) return null
  const agoMs = sinceSwitchoverTo(
    record.primary,
    notes.recoveries.find(({ kind }) => kind !== 'repair'),
    wallMs,
  )
  if (agoMs === null || Math.abs(agoMs) >= sameWishMs) return null
  const took = say`${primary} took over ${Math.max(0, Math.round(agoMs))} ms ago`
  const again = command('switchover', '--from', primary)
  return say`${took}, by a switchover that somebody asked for at the same time; to have it hand over again: ${again}`
}

function sinceSwitchoverTo(primary: MemberId, last: Recovery | undefined, wallMs: number): number | null {
  if (last?.kind !== 'switchover' || last.outcome !== 'succeeded' || last.to !== primary) return null
  return wallMs - last.startedWallMs - (last.timeline.at(-1)?.atMs ?? 0)
}

/** The primary that was to hand over leads no more, whatever was asked of it. */
export function takesAway(
  { primary }: Pick<ClusterRecord, 'primary'>,
  { outcome, from, to }: Pick<Recovery, 'outcome' | 'from' | 'to'>,
): boolean {
  return outcome === 'succeeded' && from === primary && to !== null && to !== primary
}
