import { orders } from '#failover/protocol/order.ts'
import { later, managers, strikeLater, type FaultTable } from '../faults/fault.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

function othersThan({ machines }: SimulatedCluster, machine: Machine): readonly string[] {
  return machines.filter((other) => other !== machine).map(({ name }) => name)
}

function separate({ network }: SimulatedCluster, { name }: Machine, others: readonly string[]): void {
  for (const other of others) network.separate(name, other)
}

function join({ network }: SimulatedCluster, { name }: Machine, others: readonly string[]): void {
  for (const other of others) network.join(name, other)
}

/**
 * A server dies, and its agent has the others remove that member. One of those accepts, and the others do not hear it
 * for a while: it removes the member when they hear it again.
 */
function delayWhoRemoves(cluster: SimulatedCluster, victim: Machine, random: SeededRandom): void {
  const ms = random.between(1_500, 4_500)
  let left = random.below(3)
  const stop = cluster.onHappening((happening) => {
    if (cluster.isHealed) return stop()
    if (happening.kind !== 'removing' || happening.asked.from !== victim || left-- > 0) return
    stop()
    const { name } = happening.asked.by
    const slow = cluster.machine(name)
    const others = othersThan(cluster, slow).filter((other) => other !== victim.name)
    separate(cluster, slow, others)
    later(cluster, ms, () => join(cluster, slow, others))
  })
  victim.mysqld?.die()
}

/** A member is cut off and removed, and comes back. A copy of the order to remove it arrives only then. */
function removeOnceMore(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const { held } = cluster
  const others = [...managers, ...othersThan(cluster, machine)]
  const [ms, afterMs] = [random.between(3_000, 5_000), random.between(7_000, 12_000)]
  held.copied = ({ path }) => path === orders.expel.route
  separate(cluster, machine, others)
  later(cluster, ms, () => join(cluster, machine, others))
  strikeLater(cluster, ms + afterMs, () => {
    for (const letter of held.all) held.deliver(letter)
    held.lose()
  })
}

/**
 * Nobody hears a member, and soon all hear it again. Every agent stands still from before that until long after, with a
 * question to that member under way, and no manager reaches its agent.
 */
function freezeAllWhileAsking(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const others = othersThan(cluster, machine)
  const [freezeMs, joinMs, ms] = [
    random.between(400, 2_500),
    random.between(3_100, 3_600),
    random.between(8_500, 11_000),
  ]
  separate(cluster, machine, [...managers, ...others])
  later(cluster, joinMs, () => join(cluster, machine, others))
  strikeLater(cluster, freezeMs, () => {
    for (const { agentLife } of cluster.machines) {
      agentLife?.freeze()
      later(cluster, ms, () => agentLife?.thaw())
    }
  })
  later(cluster, freezeMs + ms + random.between(500, 3_000), () => join(cluster, machine, managers))
}

/** A primary is cut off and removed. The managers hear that one again, and for a while none of the others. */
function hearTheRemovedAlone(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const others = othersThan(cluster, machine)
  const [ms, aloneMs] = [random.between(6_500, 9_000), random.between(2_000, 5_000)]
  separate(cluster, machine, [...managers, ...others])
  strikeLater(cluster, ms, () => {
    for (const name of others) separate(cluster, cluster.machine(name), managers)
    later(cluster, aloneMs, () => {
      for (const name of others) join(cluster, cluster.machine(name), managers)
    })
  })
  later(cluster, ms + random.between(0, 1_000), () => join(cluster, machine, [...managers, ...others]))
}

/** Moments in which somebody was removed and has not heard of that. */
export const unheardMoments: FaultTable = {
  'a primary is removed, and the managers hear that one alone': [
    0,
    (cluster, machine, random) => hearTheRemovedAlone(cluster, cluster.primary ?? machine, random),
  ],
}

/** Moments in which a removal could take somebody who is heard. */
export const removalMoments: FaultTable = {
  'a member dies, and one that removes it is not heard for a while': [0, delayWhoRemoves],
  'a member is removed, and the order comes once more': [0, removeOnceMore],
  'all agents stand still while they ask a member': [0, freezeAllWhileAsking],
}
