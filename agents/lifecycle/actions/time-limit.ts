import type { ActionRequest } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'

/** What is asked of an action, and of a request, to know how long a call may take. */
export type TimedAction = Pick<Action, 'timeoutSeconds'>
export type TimedRequest = Pick<ActionRequest, 'timeoutSeconds'>

const defaultSeconds = 30
/** A caller of a blocking action holds a connection open for so long. */
const blockingCapSeconds = 60

/** Seconds that a call asks for: those of the request, else of the action, else 30; −1 for no limit. */
export function secondsAsked(action: TimedAction, request: TimedRequest): number {
  // A request that says 0 asks for the default, whatever the action says.
  const asked = (request.timeoutSeconds ?? action.timeoutSeconds) || defaultSeconds
  return asked < 0 ? -1 : asked
}

/** Milliseconds that one attempt of a blocking call may take; null for no limit. */
export function blockingLimitMs(action: TimedAction, request: TimedRequest): number | null {
  const seconds = secondsAsked(action, request)
  return seconds < 0 ? null : Math.min(seconds, blockingCapSeconds) * 1_000
}

/** Milliseconds that a non-blocking call may take with all its attempts; null for no limit. Nobody waits: no cap. */
export function nonBlockingLimitMs(action: TimedAction, request: TimedRequest): number | null {
  const seconds = secondsAsked(action, request)
  return seconds < 0 ? null : seconds * 1_000
}

/**
 * Milliseconds that a stream may take; null for no limit, which is the default: a copy of a large server takes hours.
 */
export function streamLimitMs(action: TimedAction, request: TimedRequest): number | null {
  const seconds = (request.timeoutSeconds ?? action.timeoutSeconds) || -1
  return seconds < 0 ? null : seconds * 1_000
}
