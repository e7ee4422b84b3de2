import type { Acknowledged } from './writer-wire.ts'

export interface Pause {
  readonly pauseMs: number
  /** When the last write before it was acknowledged. */
  readonly sinceMs: number
  readonly fromHost: string
  readonly toHost: string
}

/** The longest time between two acknowledged writes one after the other that ended after `sinceMs`. */
export function longestPause(writes: readonly Acknowledged[], sinceMs: number): Pause {
  let longest: Pause = { pauseMs: 0, sinceMs, fromHost: '', toHost: '' }
  for (const [at, after] of writes.entries()) {
    const before = writes[at - 1]
    if (before === undefined || after.ackedMs < sinceMs) continue
    const pauseMs = after.ackedMs - before.ackedMs
    if (pauseMs > longest.pauseMs)
      longest = { pauseMs, sinceMs: before.ackedMs, fromHost: before.host, toHost: after.host }
  }
  return longest
}

/** The first write that began after `sinceMs` and was acknowledged by a server other than `notBy`. */
export function firstWrite(
  writes: readonly Acknowledged[],
  sinceMs: number,
  notBy: string | undefined,
): Acknowledged | undefined {
  const from = writes.findLastIndex(({ beganMs }) => beganMs < sinceMs) + 1
  return writes.slice(from).find(({ host }) => host !== notBy)
}
