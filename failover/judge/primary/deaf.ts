import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import { liveView, type Situation } from '../situation.ts'

/** The same transactions have waited since then (monotonic), although enough replicas hold them. */
export interface Deafness {
  readonly waited: GtidSet
  readonly sinceMs: number
}

/** Under load there are always some that wait and are held, and others each time. Null where there are none. */
export function deafnessAfter(
  before: Deafness | null,
  { record, snapshot, nowMs }: Pick<Situation, 'record' | 'snapshot' | 'nowMs'>,
): Deafness | null {
  const now = heldAndWaitedFor(record, snapshot)
  if (now.isEmpty()) return null
  const still = before?.waited.intersect(now)
  return before === null || still === undefined || still.isEmpty()
    ? { waited: now, sinceMs: nowMs }
    : { waited: still, sinceMs: before.sinceMs }
}

/**
 * What sessions of the primary wait for although as many replicas hold that as must acknowledge it, and their
 * connections are there. Empty for nothing. For a moment this is so after each write; where it stays so for the same
 * transactions, the primary's server does not hear its replicas. The look at the primary may be the older one: that
 * sessions wait may be over, and so the same has to be seen again and again.
 */
function heldAndWaitedFor(record: ClusterRecord, snapshot: Snapshot): GtidSet {
  const seen = liveView(snapshot, record.primary)?.observation
  // What a silent server said last may have passed.
  if (seen?.server == null || seen.silentMs > 0) return GtidSet.empty
  const primary = seen.server
  if (!primary.semiSyncSource.enabled || primary.semiSyncSource.waiting === 0) return GtidSet.empty
  const owned = parseGtidSet(primary.owned)
  const held = record.syncSet.flatMap((member) => {
    const replica = liveView(snapshot, member)?.observation.server
    return replica && acknowledgesTo(primary, replica)
      ? [unionOf([replica.executed, replica.received]).intersect(owned)]
      : []
  })
  return heldByAtLeast(primary.semiSyncSource.acks, held)
}

/** Both ends say that acknowledgements are in force. */
function acknowledgesTo({ dumpThreads }: ServerState, { channel, uuid }: ServerState): boolean {
  const isConnected = dumpThreads.some(({ semiSync, serverUuid }) => semiSync && serverUuid === uuid)
  return isConnected && channel?.ioRunning === 'yes' && channel.semiSync
}

function heldByAtLeast(count: number, sets: readonly GtidSet[]): GtidSet {
  // At `n`: what at least n + 1 of the sets looked at so far hold.
  const byAtLeast: GtidSet[] = []
  for (const set of sets)
    for (let n = byAtLeast.length; n >= 0; n -= 1)
      byAtLeast[n] = (byAtLeast[n] ?? GtidSet.empty).union(n === 0 ? set : (byAtLeast[n - 1]?.intersect(set) ?? set))
  return byAtLeast[count - 1] ?? GtidSet.empty
}
