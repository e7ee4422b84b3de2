import type { ActionResult } from '../wire/calls.ts'
import type { Probe } from '../wire/definitions.ts'
import type { ProbeEvent } from '../wire/events.ts'

/** What a probe remembers of its runs. */
export interface ProbeState {
  /** Runs in a row that succeeded, or failed; one of the two is 0. */
  readonly successes: number
  readonly failures: number
  /** What the last success wrote, once the threshold of successes was reached. */
  readonly latest: Buffer | undefined
}

export const newProbe: ProbeState = { successes: 0, failures: 0, latest: undefined }

export interface Observed {
  readonly state: ProbeState
  /** What is to be reported; undefined where nothing is. */
  readonly event: ProbeEvent | undefined
}

/**
 * What a run changes. Reported are: the success that reaches the threshold, a later success with another output, every
 * failure from its threshold on, and any result of a run that was forced.
 */
export function observe(probe: Probe, state: ProbeState, result: ActionResult, isForced: boolean): Observed {
  return result.ok
    ? afterSuccess(probe, state, { output: result.output, isForced })
    : afterFailure(probe, state, { message: result.message, isForced })
}

function afterSuccess(
  probe: Probe,
  state: ProbeState,
  { output, isForced }: { readonly output: Buffer; readonly isForced: boolean },
): Observed {
  const successes = state.successes + 1
  const threshold = thresholdOf(probe.successThreshold)
  const isChange = successes > threshold && !output.equals(state.latest ?? Buffer.alloc(0))
  return {
    state: { successes, failures: 0, latest: successes >= threshold ? output : state.latest },
    event:
      isForced || successes === threshold || isChange ? { ...named(probe), code: 0, output, message: '' } : undefined,
  }
}

function afterFailure(
  probe: Probe,
  state: ProbeState,
  { message, isForced }: { readonly message: string; readonly isForced: boolean },
): Observed {
  const failures = state.failures + 1
  const output = state.latest ?? Buffer.alloc(0)
  const isDue = isForced || failures >= thresholdOf(probe.failureThreshold)
  return {
    state: { successes: 0, failures, latest: state.latest },
    event: isDue ? { ...named(probe), code: -1, output, message } : undefined,
  }
}

function named({ instance = '', action }: Probe): { readonly instance: string; readonly probe: string } {
  return { instance, probe: action }
}

function thresholdOf(value: number | undefined): number {
  return Math.max(1, value ?? 1)
}
