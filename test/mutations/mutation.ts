import type { Family } from '../simulation/families.ts'

/** One rule of safety, and the change of one place that takes the rule away. */
export interface Mutation {
  readonly id: string
  /** What is true of the product, in a sentence. */
  readonly rule: string
  /** A heading, or the name of a paragraph, in docs/why/safety.md. */
  readonly heading: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** Schedules of these faults show the difference soonest; all kinds unless given. */
  readonly family?: Family
  /** Why schedules do not show the difference, or what would. A mutation that is found needs no such word. */
  readonly survives?: string
}
