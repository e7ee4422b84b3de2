import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { isGone } from '#topology/snapshot/snapshot.ts'
import { liveView, type LiveView, type Situation } from '../situation.ts'

/**
 * A primary syncs a transaction in its binlog before a replica receives that transaction. So a member of S holds no
 * transaction of the primary's server that the binlog of the primary lacks, unless the volume of the primary went back
 * in time. A volume that went back within one run of its agent does not show otherwise.
 */
export interface LostByPrimary {
  readonly lost: GtidSet
  /** The member of S that holds most of that. */
  readonly heldBy: InstanceName
}

/** Null for a primary that runs: replicas may have received something since that primary was looked at. */
export function lostByPrimary(situation: Situation): LostByPrimary | null {
  const primary = primaryThatIsDown(situation)
  if (primary === undefined || primary.observation.binlogSet === null) return null
  const binlog = parseGtidSet(primary.observation.binlogSet)
  return witnesses(situation, primary).reduce<LostByPrimary | null>((most, view) => {
    const lost = receivedFrom(view, primary).subtract(binlog)
    return lost.count() > (most?.lost.count() ?? 0) ? { lost, heldBy: view.name } : most
  }, null)
}

/** Its agent reads the binlog before any start, and has not said what is there. A member of S could know of more. */
export function isBinlogUnread(situation: Situation): boolean {
  const primary = primaryThatIsDown(situation)
  if (primary === undefined || primary.observation.binlogSet !== null) return false
  return witnesses(situation, primary).some((view) => !receivedFrom(view, primary).isEmpty())
}

/** Its agent says that its mysqld has ended, or is being torn down. */
export function primaryThatIsDown({ snapshot, record }: Situation): LiveView | undefined {
  const view = liveView(snapshot, record.primary)
  return view !== undefined && isGone(view.observation) ? view : undefined
}

function witnesses({ snapshot, record }: Situation, primary: LiveView): readonly LiveView[] {
  return record.syncSet.flatMap((member) => liveView(snapshot, member) ?? []).filter((view) => view !== primary)
}

/** What the server of the primary issued, by one look at a member that was connected to that server last. */
function receivedFrom({ observation }: LiveView, primary: LiveView): GtidSet {
  const channel = observation.server?.channel
  if (channel == null || channel.sourceUuid === '' || channel.sourceHost !== primary.host) return GtidSet.empty
  const holds = holdsOf(observation)
  return holds.subtract(holds.withoutSource(channel.sourceUuid))
}
