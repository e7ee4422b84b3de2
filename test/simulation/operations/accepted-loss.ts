import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Clients } from '../clients.ts'
import { heldBy } from '../rules.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/**
 * A person forces a failover and accepts the loss, or did so ahead of time: what the new primary does not hold is given
 * up, and nothing that another one held who promised as well. @returns the rule that was broken; undefined for none
 */
export function giveUp(cluster: SimulatedCluster, clients: Clients, happening: Happening): string | undefined {
  if (happening.kind !== 'committed' || !isAccepted(cluster)) return undefined
  const { before, record } = happening
  if (before === undefined || !mayGiveUp(cluster, before, record)) return undefined
  cluster.excuses.isLossAccepted = true
  depose(cluster, before, record)
  const elected = cluster.machine(instanceOf(record.primary))
  const lost = clients.acknowledged.subtract(heldBy(elected))
  if (lost.isEmpty()) return undefined
  cluster.say(`given up: ${lost.toString()}`)
  cluster.excuses.add('accepted', lost)
  // A person who takes the primary as it is knows that others hold more, and so does a person who named who leads.
  if (before.primary === record.primary || cluster.namedByPeople.has(elected.name)) return undefined
  return keptBetter(cluster, record.epoch, lost)
}

function isAccepted({ acceptingLoss, acceptsLoss }: SimulatedCluster): boolean {
  return acceptingLoss > 0 || acceptsLoss
}

/** Who accepts a loss ahead of time waits for the lease: the primary of before is closed, and needs no excuse. */
function depose(cluster: SimulatedCluster, before: ClusterRecord, { primary, epoch }: ClusterRecord): void {
  if (cluster.acceptingLoss > 0 && before.primary !== primary) cluster.machine(instanceOf(before.primary)).far?.depose()
  if (cluster.acceptsLoss) return
  for (const member of deposedBy(cluster, before))
    if (member !== primary) cluster.excuses.deposed.set(instanceOf(member), epoch)
}

/** Whom a group elects holds what the group agreed on. Where a group is formed anew something may be given up. */
function mayGiveUp({ groups }: SimulatedCluster, before: ClusterRecord, { epoch, group }: ClusterRecord): boolean {
  return before.epoch !== epoch && (groups === null || group?.forming === true)
}

/** Without the one that leads from now on the others of a group may go on, until they hear of that. */
function deposedBy({ groups }: SimulatedCluster, { primary, syncSet, acks }: ClusterRecord): readonly MemberId[] {
  return [...(acks === 0 ? [primary] : []), ...(groups === null ? [] : syncSet)]
}

/** Another one promised as well, and holds what was given up. */
function keptBetter(cluster: SimulatedCluster, epoch: number, lost: GtidSet): string | undefined {
  const better = cluster.machines.find((machine) => {
    // Its agent sees nothing of it any more, and shows nothing.
    if (machine.far?.sql.isCut === true) return false
    const seen = cluster.observation(machine.name)
    const hasPromised = seen?.promiseReport?.epoch === epoch && machine.agentLife?.isDead === false
    return hasPromised && !cluster.isElsewhere(seen.member) && lost.intersect(heldBy(machine)).equals(lost)
  })
  return better && `lost: ${better.name} promised and holds ${lost.toString()}, which was given up`
}
