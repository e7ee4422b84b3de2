import type { DecisionInput } from '#failover/judge/situation.ts'
import type { ClusterNotes, Recovery, TimelineEntry } from '#failover/protocol/notes.ts'

/**
 * A recovery is filed as it begins and again as it ends. A recovery that runs by the notes, and that this manager does
 * not know, is of another manager, which is gone: whoever leads goes on with that recovery or ends it.
 */
export function orphansIn({ recoveries }: ClusterNotes, isRepair: boolean): readonly Recovery[] {
  return recoveries.filter(({ outcome, kind }) => outcome === 'running' && (kind === 'repair') === isRepair)
}

/** Another manager, which led meanwhile, has ended the recovery. */
export function isEndedIn({ recoveries }: ClusterNotes, { id }: Pick<Recovery, 'id'>): boolean {
  return recoveries.some((one) => one.id === id && one.outcome !== 'running')
}

export function isFiledIn({ recoveries }: ClusterNotes, { id }: Pick<Recovery, 'id'>): boolean {
  return recoveries.some((one) => one.id === id)
}

export const goesOn = 'another manager goes on with it'

/** By the wall clocks of two machines, and never back in time. */
export function goneOnWith(
  { startedWallMs, timeline }: Recovery,
  { nowMs, wallMs }: Pick<DecisionInput, 'nowMs' | 'wallMs'>,
): { readonly beganMs: number; readonly timeline: readonly TimelineEntry[] } {
  const atMs = Math.max(timeline.at(-1)?.atMs ?? 0, wallMs - startedWallMs)
  return { beganMs: nowMs - atMs, timeline: [...timeline, { atMs, what: goesOn }] }
}
