import type { Action, FlowKind } from '../protocol/decision.ts'

/** What a step of a flow wants: actions, a sentence, and whether the flow stands still. */
export interface FlowStep {
  readonly sentence: string
  readonly flow: FlowKind | null
  readonly actions: readonly Action[]
  readonly blocked: boolean
  readonly reasons: readonly string[]
  readonly revisitMs: number | null
}

export function step(sentence: string, actions: readonly Action[] = [], more: Partial<FlowStep> = {}): FlowStep {
  return { sentence, actions, flow: null, blocked: false, reasons: [], revisitMs: null, ...more }
}
