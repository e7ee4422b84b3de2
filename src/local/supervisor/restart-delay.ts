const firstMs = 1_000
const longestMs = 30_000
/** What ran this long has proved itself: its next end counts as a first one. */
export const provenMs = 60_000

/**
 * How long to wait before a process is started again after its `ends`-th end in a row: 1 s, then twice as long each
 * time, 30 s at most.
 */
export function restartDelayMs(ends: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.max(0, ends - 1))
}
