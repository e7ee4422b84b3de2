import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { Groups } from './groups.ts'

/** What keeps a group from being whole; undefined for nothing. */
export function whatIsMissingInGroup({ machines }: SimulatedCluster, groups: Groups): string | undefined {
  const members = machines.map((machine) => ({ machine, member: groups.memberAt(machine) }))
  const outside = members.find(({ member }) => member === undefined)
  if (outside !== undefined) return `${outside.machine.name} is in no group`
  const [first] = members
  const apart = members.find(({ member }) => member?.ledger !== first?.member?.ledger)
  if (apart !== undefined) return `${apart.machine.name} is in another group`
  const recovering = members.find(({ member }) => member?.isOnline !== true)
  if (recovering !== undefined) return `${recovering.machine.name} is not ONLINE`
  const closed = machines.find(({ mysqld }) => mysqld?.offline !== false)
  return closed && `${closed.name} lets nobody in`
}
