import { groupAddress } from '#failover/protocol/group-address.ts'
import { silentMemberMs } from '#failover/protocol/timings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Parts } from './parts.ts'

/** Members of the replication group whose servers have answered this agent nothing for `silentMemberMs`. */
export function silentMembers({
  expulsion,
  timings,
  file,
}: Pick<Parts, 'expulsion' | 'file' | 'timings'>): readonly InstanceName[] {
  const silence = expulsion?.silence
  if (silence === undefined) return []
  const peers = file.current.assignment?.peers ?? []
  return peers
    .filter((peer) => (silence.get(groupAddress(peer)) ?? 0) >= silentMemberMs(timings))
    .map(({ instance }) => instance)
}
