import type { Clock } from './ports.ts'

/**
 * A wall clock that no hand sets: what the calendar said when this was called, carried on by the monotonic clock. For
 * deadlines that are written down as moments and are looked at by this process alone.
 * @returns milliseconds since 1970-01-01 UTC, never going back
 */
export function steadyWall(clock: Clock): () => number {
  const startMs = clock.wallMs() - clock.monotonicMs()
  return () => Math.round(startMs + clock.monotonicMs())
}
