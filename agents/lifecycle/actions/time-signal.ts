/** Node runs a timer that is longer after 1 ms. */
const longestTimerMs = 2_147_483_647

/** Aborted with the signal that is given, and when the time is over. Null is no limit. */
export function signalWithin(deadlineMs: number | null, signal: AbortSignal): AbortSignal {
  const deadlines = deadlineMs === null ? [] : [AbortSignal.timeout(Math.min(Math.ceil(deadlineMs), longestTimerMs))]
  return AbortSignal.any([signal, ...deadlines])
}
