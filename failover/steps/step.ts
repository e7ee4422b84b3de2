import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Condition } from '../protocol/condition.ts'
import type { Action, FlowKind } from '../protocol/decision.ts'

/** What a step of a flow wants: actions, a sentence, and whether the flow stands still. */
export interface FlowStep {
  readonly sentence: Sentence
  readonly flow: FlowKind | null
  readonly actions: readonly Action[]
  readonly blocked: boolean
  readonly reasons: readonly Sentence[]
  readonly revisitMs: number | null
  /** A hook stopped what was to begin: why, where that is news. */
  readonly stopped?: Sentence
}

/** A step, and what the cluster is in: what is done follows from that. */
export interface Decided extends FlowStep {
  readonly condition: Condition
}

export function step(sentence: Sentence, actions: readonly Action[] = [], more: Partial<FlowStep> = {}): FlowStep {
  return { sentence, actions, flow: null, blocked: false, reasons: [], revisitMs: null, ...more }
}

/** A step of a failover that goes on. */
export function failing(sentence: Sentence, actions: readonly Action[], more: Partial<FlowStep> = {}): FlowStep {
  return step(sentence, actions, { ...more, flow: 'failover' })
}

/** Two steps at once: seeding goes on beside a change of size that waits, since it may be what that waits for. */
export function besides(scaling: FlowStep | undefined, seeding: FlowStep | undefined): FlowStep | undefined {
  if (scaling === undefined || seeding === undefined || scaling.actions.some(({ kind }) => kind === 'commit'))
    return scaling ?? seeding
  return {
    ...seeding,
    sentence: say`${scaling.sentence}; ${seeding.sentence}`,
    actions: [...scaling.actions, ...seeding.actions],
    blocked: scaling.blocked || seeding.blocked,
    revisitMs: soonest(scaling.revisitMs, seeding.revisitMs),
  }
}

export function soonest(...waits: readonly (number | null)[]): number | null {
  const known = waits.filter((ms) => ms !== null)
  return known.length === 0 ? null : Math.min(...known)
}
