import { salvages } from '#failover/protocol/mode-name.ts'
import { leaseSurelyOutMs } from '#failover/protocol/timings.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { hasPromised, isLive, liveViews, viewNamed, viewOf, type Situation } from '../situation.ts'

/**
 * Where nobody acknowledges, a primary that nobody hears tells clients OK until its lease has run out: nothing may open
 * before (docs/why/safety-of-modes.md, "Mode async"). The lease surely runs out once nobody can confirm it any more:
 * neither a manager, which confirms nothing while the record has the intent to fetch, nor a majority of the agents, of
 * which so many have promised the next epoch that the rest are none.
 */
export function isLeaseBlocked(situation: Situation): boolean {
  const { record, manager, spec, snapshot } = situation
  if (!salvages(spec) || record.intent?.kind !== 'fetch' || record.intent.by !== manager) return false
  return !isLive(viewOf(snapshot, record.primary)) && !couldBeConfirmed(situation)
}

/**
 * Members whose agents answer and could still confirm the lease; none where all who could are no majority anyway.
 * Whether their servers run, and what they hold, says nothing of what their agents answer.
 */
export function leaseVoters(situation: Situation): readonly MemberId[] {
  const { record, snapshot } = situation
  if (!couldBeConfirmed(situation)) return []
  return liveViews(snapshot).flatMap(({ past, observation }) =>
    past === undefined && observation.member !== record.primary && !hasPromised(record, observation)
      ? [observation.member]
      : [],
  )
}

/** The primary asks the peers that it was told last. */
function couldBeConfirmed(situation: Situation): boolean {
  const { record, snapshot } = situation
  const own = instanceOf(record.primary)
  const isFree = (name: InstanceName): boolean => name !== own && !isPromised(situation, name)
  // Where the primary was never heard, nothing is known of its peers: then nobody may be free.
  const told = viewOf(snapshot, record.primary)?.observation?.stored.assignment?.addresses
  if (told === undefined) return snapshot.instances.some(({ name }) => isFree(name))
  const peers = Object.keys(told)
  return (1 + peers.filter(isFree).length) * 2 > peers.length
}

function isPromised({ snapshot, record }: Situation, name: InstanceName): boolean {
  const view = viewNamed(snapshot, name)
  return isLive(view) && hasPromised(record, view.observation)
}

/** Milliseconds until the lease of a silent primary has surely run out; null while somebody could still confirm it. */
export function leaseRunsOutInMs(situation: Situation): number | null {
  const { leaseBlockedSinceMs: sinceMs, nowMs, timings } = situation
  if (sinceMs === null || !isLeaseBlocked(situation)) return null
  return Math.max(0, sinceMs + leaseSurelyOutMs(timings) - nowMs)
}
