import { say, text, time, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { ClusterNotes, Downtime } from '../protocol/notes.ts'
import { heldAt, heldOfOthers } from './said-for-a-while.ts'

export const shortestDowntimeMs = 1_000
export const longestDowntimeMs = 30 * 86_400_000

/** A timer of Node.js cannot wait longer than 24 days: who waits for the end of a longer one looks in between. */
const longestWaitMs = 3_600_000

/** Nothing ends a downtime but its time, or a person. */
export function downtimesAt(notes: ClusterNotes, wallMs: number): readonly Downtime[] {
  return heldAt(notes.downtimes, wallMs)
}

export function downtimeOf(
  { notes, wallMs }: { readonly notes: ClusterNotes; readonly wallMs: number },
  instance: InstanceName,
): Downtime | undefined {
  return downtimesAt(notes, wallMs).find((each) => each.instance === instance)
}

/**
 * An instance in downtime will be in trouble soon, as a person said. Among candidates that hold everything, the
 * downtime is a reason to elect another one, and never a reason to elect nobody.
 */
export function compareDowntime(situation: Parameters<typeof downtimeOf>[0], a: MemberId, b: MemberId): number {
  const [left, right] = [a, b].map((member) => Number(downtimeOf(situation, instanceOf(member)) !== undefined))
  return (left ?? 0) - (right ?? 0)
}

/** Milliseconds until the next downtime ends: what is shown changes then. Null where there is no downtime. */
export function untilADowntimeEnds(notes: ClusterNotes, wallMs: number): number | null {
  const ends = downtimesAt(notes, wallMs).map(({ untilWallMs }) => untilWallMs - wallMs)
  return ends.length === 0 ? null : Math.min(longestWaitMs, ...ends)
}

/** The downtime takes the place of an earlier one of that instance; downtimes that have ended are forgotten. */
export function withDowntime(notes: ClusterNotes, downtime: Downtime, wallMs: number): ClusterNotes {
  return { ...notes, downtimes: [...heldOfOthers(notes.downtimes, downtime.instance, wallMs), downtime] }
}

/** Without any the field is absent: earlier versions of Regent read such notes. */
export function withoutDowntime(notes: ClusterNotes, instance: InstanceName, wallMs: number): ClusterNotes {
  const { downtimes, ...rest } = notes
  const left = heldOfOthers(downtimes, instance, wallMs)
  return left.length === 0 ? rest : { ...rest, downtimes: left }
}

/** A moment and not what is left, so that the sentence stays the same while time passes. */
const moment = new Intl.DateTimeFormat('sv-SE', { timeZone: 'UTC', dateStyle: 'short', timeStyle: 'medium' })

/** `downtime until 2026-11-23 12:03:10 UTC by ann: new disk`. */
export function describeDowntime({ untilWallMs, reason, owner }: Omit<Downtime, 'instance'>): Sentence {
  return say`downtime until ${time(moment.format(untilWallMs))} UTC${owner === '' ? '' : say` by ${owner}`}: ${text(reason)}`
}
