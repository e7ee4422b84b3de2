import type { Situation } from '../judge/situation.ts'
import type { Condition } from '../protocol/condition.ts'
import type { FlowStep } from './step.ts'

/** The conditions that a mode tells apart, and what is known in each. */
type KnownIn<Known> = { readonly [N in keyof Known]: N extends Condition ? object : never }

/** A condition by its name, with what is known in it. */
export type FoundOf<Known extends KnownIn<Known>, Name extends keyof Known = keyof Known> = {
  [N in Name]: { readonly condition: N } & Known[N]
}[Name]

/** What a mode does in each of its conditions. */
export type ActsOf<Known extends KnownIn<Known>> = {
  readonly [N in keyof Known]: (situation: Situation, known: Known[N]) => FlowStep
}
