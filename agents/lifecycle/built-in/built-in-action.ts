import type { ActionResult } from '../wire/calls.ts'

/** What a call gives, by name. */
export type Parameters = Readonly<Record<string, string>>

/** The time that a built-in action has. */
export interface Patience {
  /** Milliseconds; null for no limit. */
  readonly deadlineMs: number | null
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal
}

/** An action that the agent does itself, without a command or a call. */
export interface BuiltInAction {
  readonly name: string
  /**
   * The output, or a failure with one of the error names. What it rejects with is a failure too. Parameters may hold
   * passwords: none of them may be a part of a message or of a line of the log.
   */
  readonly run: (parameters: Parameters, patience: Patience) => Promise<ActionResult>
}
