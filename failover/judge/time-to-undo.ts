import { command, counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { undoMs, whyNoTimeToUndo, type OpenChange } from '#topology/snapshot/open-changes.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { liveView, type Situation } from './situation.ts'

/** The part of a switchover's remaining time that the demotion of the old primary may take. */
export const demotionShare = 0.8

/** For what comes before the demotion, and for rows that are changed after the look. */
const spareMs = 2_000
const spareFactor = 1.25

/** What a switchover would end: transactions with many changed rows at the primary. */
function doomedBy({ snapshot, record }: Situation): readonly OpenChange[] {
  return liveView(snapshot, record.primary)?.observation.server?.openChanges ?? []
}

/** Why a switchover with this time-out would not begin; with a command that does, and what that command costs. */
export function whyNoTimeFor(situation: Situation, to: InstanceName | null, timeoutMs: number): Sentence | null {
  const changes = doomedBy(situation)
  const { graceMs } = situation.spec.switchover
  const demotionMs = timeoutMs * demotionShare
  const why = whyNoTimeToUndo(changes, demotionMs - Math.min(graceMs, demotionMs / 2))
  if (why === null) return null
  const seconds = Math.ceil((((undoMs(changes) + graceMs) / demotionShare) * spareFactor + spareMs) / 1_000)
  const again = command('switchover', ...(to === null ? [] : ['--to', to]), '--timeout', `${seconds}s`)
  return say`${why}. Wait until that is committed or, ending it, use: ${again}`
}

/** What it costs, for whoever asks before. */
export function undoingSteps(situation: Situation): readonly Sentence[] {
  return doomedBy(situation).map((change) => {
    const rows = counted(change.rows, 'row')
    const seconds = Math.ceil(undoMs([change]) / 1_000)
    return say`session ${change.session} of ${change.user} is ended, and ${rows} are undone, for up to ${seconds} s, before writes are stopped`
  })
}
