import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { PromiseReport } from '#topology/snapshot/observation.ts'
import { liveView, viewOf, type LiveView, type Situation } from '../situation.ts'

/** A member that promised the next epoch, stopped, and said what it holds. */
export interface Promised {
  readonly member: MemberId
  readonly view: LiveView
  readonly report: PromiseReport
  readonly holds: GtidSet
}

/**
 * The member's report under the promise of `epoch`, if it gave one that counts: at the record's revision. A report
 * given at an older revision could still be changed by a fetch that an earlier intent ordered and that is late; a
 * member that promised again at this revision refuses that fetch (model: NO_INTENT).
 */
export function promisedBy(situation: Situation, member: MemberId, epoch: number): Promised | undefined {
  const view = liveView(situation.snapshot, member)
  const heard = view && promiseHeard(situation, member, epoch)
  return heard && { member, view, ...heard }
}

/**
 * The same by the last word of an agent that may be silent since. Of a primary that was demoted the word stays true:
 * its agent keeps the server closed until an epoch that is committed later.
 */
export function promiseHeard(
  situation: Situation,
  member: MemberId,
  epoch: number,
): Pick<Promised, 'report' | 'holds'> | undefined {
  const seen = viewOf(situation.snapshot, member)?.observation
  if (!seen) return undefined
  const { promiseReport: report, stored } = seen
  if (
    report === null ||
    report.epoch !== epoch ||
    stored.promise !== epoch ||
    stored.revision < situation.record.revision ||
    stored.seeding
  )
    return undefined
  return { report, holds: parseGtidSet(report.holds) }
}
