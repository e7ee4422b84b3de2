import type { ProbeEvent } from '../wire/events.ts'

/** What is to be told, and what was told, of one probe. */
export interface ReportState {
  /** The next to be sent. There is one place, for the newest. */
  readonly next: ProbeEvent | undefined
  /** The last that was sent, or is being sent. */
  readonly last: ProbeEvent | undefined
  readonly lastAtMs: number
  readonly isSending: boolean
  /** Whether the last could not be sent. */
  readonly hasFailed: boolean
}

export const nothingReported: ReportState = {
  next: undefined,
  last: undefined,
  lastAtMs: 0,
  isSending: false,
  hasFailed: false,
}

/**
 * A probe with a period of a second, of a server that is down, would else cost the API server two requests a second for
 * as long as the server is down.
 */
const sameFailureMs = 15_000

/** An event that is to be told. The same failure again is told once in 15 s, unless the run was forced. */
export function offered(state: ReportState, event: ProbeEvent, nowMs: number, isForced: boolean): ReportState {
  const isRepetition =
    event.code !== 0 &&
    state.next === undefined &&
    !state.hasFailed &&
    isSame(state.last, event) &&
    nowMs - state.lastAtMs < sameFailureMs
  return isRepetition && !isForced ? state : { ...state, next: event }
}

/** The last event is to be told once more, unless a newer one waits. */
export function repeated(state: ReportState): ReportState {
  return state.next === undefined ? { ...state, next: state.last } : state
}

/** As `repeated`, where the last could not be told. */
export function retried(state: ReportState): ReportState {
  return state.hasFailed ? repeated(state) : state
}

/** The event to be sent now; undefined where there is none, or one is being sent: nothing overtakes. */
export function taken(
  state: ReportState,
  nowMs: number,
): { readonly state: ReportState; readonly event: ProbeEvent } | undefined {
  const { next: event, isSending } = state
  if (event === undefined || isSending) return undefined
  return { state: { ...state, next: undefined, last: event, lastAtMs: nowMs, isSending: true }, event }
}

/** The end of a sending. */
export function ended(state: ReportState, hasFailed: boolean): ReportState {
  return { ...state, isSending: false, hasFailed }
}

function isSame(a: ProbeEvent | undefined, b: ProbeEvent): boolean {
  return a?.code === b.code && a.message === b.message && a.output.equals(b.output)
}
