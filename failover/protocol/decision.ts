import type { Sentence } from '#common/sentence/sentence.ts'
import type { Analysis, PrintedAnalysis } from '#topology/analysis/analysis.ts'
import type { InstanceName, MemberId } from '#topology/snapshot/member.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { Condition } from './condition.ts'
import type { HookMoment } from './hook-moments.ts'
import type { Loss } from './notes.ts'
import type { ClusterRecord } from './record.ts'
import type { Order, OrderName } from './order.ts'
import type { Word } from './word.ts'

/** A thing to do now. Each action is idempotent; what follows is decided again from the next snapshot. */
export type Action =
  | CommitAction
  | OrderAction
  | WordAction
  | { readonly kind: 'route'; readonly route: PrimaryRoute }
  | { readonly kind: 'scale'; readonly count: number }
  | HooksAction

/** The hooks of this moment are to run before anything else of the recovery is done. */
export interface HooksAction {
  readonly kind: 'hooks'
  readonly moment: HookMoment
  /** The member that is to lead; null while that is not known. */
  readonly successor: MemberId | null
  /** The request for a switchover that waits for them; null for none. */
  readonly request: string | null
}

/** An order, and to whom. */
export type OrderAction<N extends OrderName = OrderName> = {
  [K in N]: { readonly kind: K; readonly to: InstanceName; readonly order: Order<K> }
}[N]

/** A word, and to whom. */
export type WordAction<N extends SaidWord = SaidWord> = {
  [K in N]: { readonly kind: 'say'; readonly to: InstanceName; readonly word: K; readonly said: Word<K> }
}[N]

type SaidWord = 'backUp' | 'backups' | 'closeHole' | 'rehearse'

export interface CommitAction {
  readonly kind: 'commit'
  readonly next: ClusterRecord
  readonly why: Sentence
  /** A deadline ended what was asked for, or an order had no answer in time. */
  readonly timedOut?: boolean
  /** The change is what a person's failover asked for, though the primary is the same, or is the first. */
  readonly isAnswer?: true
  /** What a change of the primary gives up. Absent for nothing. */
  readonly loss?: Loss
}

export type FlowKind = 'bootstrap' | 'failover' | 'switchover' | 'restart'

/** What is decided, printed for the place where the cluster is. */
export interface Decision {
  /** What the cluster is in: what is done follows from that. */
  readonly condition: Condition
  /** Why something is done, and always, also where nothing is. */
  readonly sentence: string
  /** Another decision is news where this differs: figures in a sentence change all the time. */
  readonly news: string
  /** The recovery this is a step of; null when there is none. */
  readonly flow: FlowKind | null
  readonly actions: readonly Action[]
  /** A hook stopped what was to begin: why, where that is news. Absent else. */
  readonly stopped?: string
  /** Something stands still that should not: shown in red. */
  readonly blocked: boolean
  /** Decide again after this many milliseconds even if nothing happens; null when only events matter. */
  readonly revisitMs: number | null
  /** Reasons for what was not chosen or not done, one line each (election losers, refused steps). */
  readonly reasons: readonly string[]
}

/** What is wrong with the same input, by name, for people; `Analyses` for the place where the cluster is. */
export type Findings = readonly Analysis[]
export type Analyses = readonly PrintedAnalysis[]
