import type { Acknowledged } from '../support/writer-wire.ts'

/**
 * How often the server that acknowledges changed, at least. A change counts only where the later write began after the
 * earlier one was acknowledged, so that a late message to a client never counts. Two primaries at a time make more
 * changes than there were epochs.
 */
export function changesOfServer(writes: readonly Acknowledged[]): number {
  let changes = -1
  let last: { readonly host: string; readonly ackedMs: number } = { host: '', ackedMs: -Infinity }
  // The earliest acknowledgement first: no other order finds a longer chain.
  for (const { host, beganMs, ackedMs } of writes.toSorted((a, b) => a.ackedMs - b.ackedMs)) {
    if (host === last.host || beganMs <= last.ackedMs) continue
    last = { host, ackedMs }
    changes += 1
  }
  return Math.max(changes, 0)
}
