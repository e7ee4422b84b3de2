import { groupSeenBy } from '#topology/group/group-view.ts'
import { isTooLowFor, lowestOf } from '#topology/group/versions.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'

/**
 * The lowest version in the group, where that is what keeps an instance out; null where the instance is a member, or
 * may become one.
 * @param primary of the group: whose view of the group counts
 */
export function lowestIfBlocked(view: InstanceView, primary: InstanceView, frozenMs: number): string | null {
  const server = view.observation?.server
  const members = groupSeenBy(primary, frozenMs)?.members ?? []
  if (!server || members.some(({ uuid }) => uuid === server.uuid)) return null
  const versions = members.map(({ version }) => version)
  return isTooLowFor(server.version, versions) ? lowestOf(versions) : null
}
