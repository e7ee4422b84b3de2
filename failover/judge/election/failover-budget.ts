import { say, time, type Part, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { DecisionInput } from '../situation.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'

/**
 * How many automatic failovers a cluster may do. A failover is cheap and loses nothing; what must be stopped is a
 * primary that dies again and again wherever it goes. So a few are free, and each comes back one window after it was
 * used. Failovers that a person asked for neither need nor use one.
 */
export interface FailoverBudget {
  /** How many there are when none was used lately. */
  readonly most: number
  readonly windowMs: number
  readonly left: number
  /** Wall time at which the next one comes back; null when all are there. */
  readonly moreAtWallMs: number | null
}

const usual = { failovers: 3, windowMs: 300_000 } as const

/** More entries would change nothing but how exactly a budget is known that has been empty for as many windows. */
const mostNoted = 32

/**
 * What applies of the spec: `budget` if it is given, else the older `windowMs` as a budget of one, else the usual one.
 * Null = no limit.
 */
export function budgetOf({
  failover,
}: Pick<ClusterSpec, 'failover'>): { readonly failovers: number; readonly windowMs: number } | null {
  if (failover.budget !== undefined) return failover.budget
  if (failover.windowMs === undefined) return usual
  return failover.windowMs === 0 ? null : { failovers: 1, windowMs: failover.windowMs }
}

/** What is left now; null where there is no limit. */
export function failoverBudget({
  spec,
  notes,
  wallMs,
}: Pick<DecisionInput, 'spec' | 'notes' | 'wallMs'>): FailoverBudget | null {
  const limit = budgetOf(spec)
  if (limit === null) return null
  const { failovers: most, windowMs } = limit
  const fullAtMs = whenFull(usedAt(notes, wallMs), most, windowMs)
  const used = Math.max(0, Math.ceil((fullAtMs - wallMs) / windowMs))
  return { most, windowMs, left: most - used, moreAtWallMs: used === 0 ? null : fullAtMs - (used - 1) * windowMs }
}

/**
 * Failovers come back one per window, one after the other. A failover that no gate could hold back never makes the
 * budget worse than empty.
 */
function whenFull(used: readonly number[], most: number, windowMs: number): number {
  const [oldest = -Infinity] = used
  // Where more may have been used than is noted, the budget was empty then.
  const start = used.length < mostNoted ? -Infinity : oldest + (most - 1) * windowMs
  return used.reduce((fullAt, atMs) => Math.min(Math.max(fullAt, atMs) + windowMs, atMs + most * windowMs), start)
}

/**
 * Oldest first. What lies in the future was noted by a clock that was wrong: it must not hold back anything for ever.
 */
function usedAt({ automaticFailovers, lastFailoverWallMs }: ClusterNotes, wallMs: number): readonly number[] {
  const noted = automaticFailovers ?? (lastFailoverWallMs === null ? [] : [lastFailoverWallMs])
  return noted.filter((atMs) => atMs <= wallMs).toSorted((a, b) => a - b)
}

/**
 * Notes one more automatic failover, once however often it is noted. Older managers read `lastFailoverWallMs` alone.
 */
export function automaticFailoverAt(wallMs: number): (notes: ClusterNotes) => ClusterNotes {
  return (notes) => {
    const before = usedAt(notes, wallMs).filter((atMs) => atMs !== wallMs)
    return { ...notes, lastFailoverWallMs: wallMs, automaticFailovers: [...before, wallMs].slice(-mostNoted) }
  }
}

/** `2 of 3 automatic failovers left until 12:03:10 UTC`; '' where all are left, or nothing limits them. */
export function budgetSentence(budget: FailoverBudget | null): Said {
  if (budget === null || budget.moreAtWallMs === null) return ''
  return say`${budget.left} of ${budget.most} automatic ${budget.most === 1 ? say`failover` : say`failovers`} left until ${timeOf(budget.moreAtWallMs)}`
}

/** Why no automatic failover may be done now, and from when on one may; null while one may. */
export function whySpent(budget: FailoverBudget | null): Sentence | null {
  if (budget === null || budget.left > 0 || budget.moreAtWallMs === null) return null
  const until = timeOf(budget.moreAtWallMs)
  const window = say`${budget.windowMs / 1_000} s`
  if (budget.most === 1)
    return say`the last automatic failover was at ${timeOf(budget.moreAtWallMs - budget.windowMs)}, the next one may be at ${until} (window ${window})`
  return say`all ${budget.most} automatic failovers are used up until ${until} (one comes back every ${window})`
}

/** A moment of the day, so that the sentence stays the same while time passes. */
function timeOf(wallMs: number): Part {
  const ofDay = Math.floor(wallMs / 1_000) % 86_400
  const parts = [Math.floor(ofDay / 3_600), Math.floor(ofDay / 60) % 60, ofDay % 60]
  return time(`${parts.map((part) => String(part).padStart(2, '0')).join(':')} UTC`)
}
