import type { Family } from '../simulation/families.ts'

/** One rule of safety, and the change of one place that takes the rule away. */
export interface Mutation {
  readonly id: string
  /** What is true of the product, in a sentence. */
  readonly rule: string
  /** A heading, or the name of a paragraph, in docs/why/safety.md or docs/why/safety-of-modes.md. */
  readonly heading: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** Where no scenario shows the difference, schedules of these faults do soonest; all kinds unless given. */
  readonly family?: Family
  /**
   * The scripts or tests that show the difference; all scenarios unless given. Tests beside the code where the
   * simulated world has a stand-in for that code.
   */
  readonly shownBy?: string
}
