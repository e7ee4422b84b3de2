import type { ActionResult } from '../wire/calls.ts'

/** What a call gives, by name. */
export type Parameters = Readonly<Record<string, string>>

/** The time that a built-in action has. */
export interface Patience {
  /** Milliseconds; null for no limit. */
  readonly deadlineMs: number | null
  /** Aborted when the agent stops, and when the time is over. */
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
  /** Where the output of the action is a stream: begins it. What refuses or fails is the end of the stream. */
  readonly stream?: (parameters: Parameters, patience: Patience) => OutgoingStream
}

/** Data that is made while somebody takes it. */
export interface OutgoingStream {
  /** Breaks off where the stream fails; `ended` says why. */
  readonly data: AsyncIterable<Uint8Array>
  /** Resolves when nothing of it is left in this process, nor on the disk. Never rejects. */
  readonly ended: Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }>
  /** Ends it early. `why` is told as its end. */
  kill(why: string): void
}
