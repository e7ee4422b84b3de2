import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { groupAddress } from '#failover/protocol/group-address.ts'
import type { View } from '../instance/pass.ts'

/** A member was seen to need 0.2 to 0.7 s, on a busy machine, until the group had taken its request to join. */
export const turnMs = 1_000

/**
 * Number of members that begin to join before this member. Members that waited outside while a group was formed are let
 * in together, and join one after the other: mysqld takes one connection for its group at a time. Two members that
 * started at the same moment kept each other out for up to 20 s. The number is 0 for a member that was not told to stay
 * out in this epoch.
 */
export function turnOf({ jobs }: Pick<View, 'jobs'>, assignment: Assignment): number {
  if (jobs.joinsInTurn !== assignment.epoch) return 0
  const joiners = assignment.peers
    .map(({ instance }) => instance)
    .filter((instance) => instance !== leaderIn(assignment))
  return Math.max(0, joiners.indexOf(instanceOf(assignment.member)))
}

/** The primary comes first: one that joins as well is in no group yet, and cannot be dialled while it starts. */
export function seedsFor({ config }: Pick<View, 'config'>, assignment: Assignment): readonly string[] {
  const leader = leaderIn(assignment)
  return assignment.peers
    .filter(({ instance }) => instance !== config.instance)
    .toSorted((a, b) => Number(b.instance === leader) - Number(a.instance === leader))
    .map(groupAddress)
}

/** The leader by this assignment; null for the leader itself. */
function leaderIn(assignment: Assignment): InstanceName | null {
  return assignment.role === 'replica' ? assignment.source.instance : null
}
