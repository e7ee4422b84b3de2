import { longestTimerMs } from '#common/ports/real-world.ts'

/** Aborted with the signal that is given, and when the time is over. Null is no limit. */
export function signalWithin(deadlineMs: number | null, signal: AbortSignal): AbortSignal {
  const deadlines = deadlineMs === null ? [] : [AbortSignal.timeout(Math.min(Math.ceil(deadlineMs), longestTimerMs))]
  return AbortSignal.any([signal, ...deadlines])
}
