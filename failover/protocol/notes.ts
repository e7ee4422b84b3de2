import type { HookMoment } from './hook-moments.ts'
import type { InstanceName, MemberId } from '#topology/snapshot/member.ts'
import type { Annotations } from './annotations.ts'

export const notesVersion = 1

export const recoveriesKept = 50

/** The second object beside the record: what no order depends on for safety. Survives managers. */
export interface ClusterNotes {
  readonly version: number
  /** Nothing is decided automatically. */
  readonly paused: Pause | null
  /** Instances fenced by a person. */
  readonly fenced: readonly {
    readonly instance: InstanceName
    readonly keepPrimary: boolean
    readonly wallMs: number
  }[]
  /** Number of instances a person asked for by scaling; null = as in the spec. */
  readonly instances: number | null
  /** Time of the last automatic failover; older managers go by that alone. */
  readonly lastFailoverWallMs: number | null
  /**
   * Wall times of the latest automatic failovers, oldest first (`failover-budget.ts`). Absent in older notes, and
   * before the first one.
   */
  readonly automaticFailovers?: readonly number[]
  /** The incarnations each member's agent reported, newest first, a few each (`incarnations.ts`). */
  readonly incarnations: Readonly<Record<MemberId, readonly string[]>>
  /** Primaries that may have acknowledged what no replica holds (`unsettled.ts`), oldest first. Absent for none. */
  readonly unsettled?: readonly UnsettledNote[]
  /** Instances whose trouble is known and expected (`downtime.ts`), one each. Absent for none, and from older notes. */
  readonly downtimes?: readonly Downtime[]
  /** Instances whose data a person gave up for a copy (`reseed-consent.ts`). Absent for none, and from older notes. */
  readonly reseedConsents?: readonly ReseedConsent[]
  /** Absent for none, and from older notes. */
  readonly annotations?: Annotations
  /** Newest first, at most so many (`recoveriesKept`). Stored apart from the rest, which must not grow with them. */
  readonly recoveries: readonly Recovery[]
}

export const emptyNotes: ClusterNotes = {
  version: notesVersion,
  paused: null,
  fenced: [],
  instances: null,
  lastFailoverWallMs: null,
  incarnations: {},
  recoveries: [],
}

/** Why nothing is decided automatically, since when, and who ends that. */
export interface Pause {
  readonly reason: string
  readonly wallMs: number
  /** A person, or the resource that says so itself. Absent from older notes. */
  readonly by?: 'person' | 'resource'
}

/** The words of each pause of a resource. Notes of an older Regent tell by these whose a pause is. */
export const pausedBySpec = 'paused in its resource'

export function pauseOfResource(wallMs: number): Pause {
  return { reason: pausedBySpec, wallMs, by: 'resource' }
}

/** Until when an instance may be in trouble without anybody being called, why, and who said so. */
export interface Downtime {
  readonly instance: InstanceName
  readonly untilWallMs: number
  readonly reason: string
  /** '' where nobody gave a name. */
  readonly owner: string
}

/** Until when an instance may be told to give up its data for a copy, although the policy is `manual`. */
interface ReseedConsent {
  readonly instance: InstanceName
  readonly untilWallMs: number
}

/** What one agent said of its tail, and which of its words that was. */
export interface UnsettledNote {
  readonly member: MemberId
  /** In which the member led when it was noted. */
  readonly epoch: number
  readonly agentRun: string
  readonly sequence: number
}

/**
 * A recorded episode from detection to routed writes. `repair`: something was put right at one instance, and the
 * primary stayed; `from` and `to` are that instance.
 */
export interface Recovery {
  readonly id: string
  readonly kind: 'bootstrap' | 'failover' | 'switchover' | 'restart' | 'repair'
  readonly startedWallMs: number
  /** Why it began: analysis code and sentence. */
  readonly analysis: string
  readonly sentence: string
  readonly from: MemberId | null
  readonly to: MemberId | null
  readonly fromEpoch: number
  readonly toEpoch: number | null
  readonly outcome: 'running' | 'succeeded' | 'undone' | 'abandoned'
  /** Milliseconds since detection, monotonic, one entry per step. */
  readonly timeline: readonly TimelineEntry[]
  /** Absent where no other one came to lead. */
  readonly loss?: Loss
  /** Absent where there are none. */
  readonly hooks?: RecoveryHooks
}

/** What was given up of what clients may have been told. */
export interface Loss {
  /** Transactions that are known of; null where nobody knows. */
  readonly transactions: number | null
  /** For so long the lost primary may have taken writes of which nobody heard; null where nobody knows. */
  readonly unheardSeconds: number | null
}

export function isNothing({ transactions, unheardSeconds }: Loss): boolean {
  return transactions === 0 && unheardSeconds === 0
}

export const noLoss: Loss = { transactions: 0, unheardSeconds: 0 }
export const unknownLoss: Loss = { transactions: null, unheardSeconds: null }

/** What hooks of a recovery did. A run is written down before it begins: so no other manager begins it again. */
export interface RecoveryHooks {
  /** What was wrong, by name. */
  readonly failureType: string
  /** In the order in which they are to run. */
  readonly runs: readonly HookRun[]
}

export interface HookRun {
  readonly moment: HookMoment
  /** Place among the hooks of that moment. */
  readonly index: number
  /** How it is called where people read of it. */
  readonly hook: string
  /**
   * `unknown`: the manager that began it is gone, and nobody knows how it ended. `skipped`: it was not begun, and is
   * not any more.
   */
  readonly state: 'due' | 'running' | 'succeeded' | 'failed' | 'unknown' | 'skipped'
  /** The manager run that began it; '' before. */
  readonly by: string
  readonly beganWallMs: number | null
  readonly ms: number | null
  /** How it ended, in words. */
  readonly said: string
  /** The hook failed, and therefore what was to follow is not begun. */
  readonly stops?: true
}

export interface TimelineEntry {
  readonly atMs: number
  readonly what: string
}
