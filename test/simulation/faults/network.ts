import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { dieAtWrite } from './disk-writes.ts'
import { later, managers, type FaultTable } from './fault.ts'

function cutOff(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const peers = cluster.machines.filter((other) => other !== machine).map(({ name }) => name)
  const from = random.pick([
    [...managers, ...peers, 'clients'],
    [...managers, ...peers],
    managers,
    managers,
    [...managers, ...peers.slice(0, 1)],
    peers,
    peers.slice(0, 1),
    managers.slice(0, 1),
    ['clients'],
  ])
  const ways = random.pick(['both', 'in', 'out'])
  for (const other of from) {
    if (ways !== 'out') cluster.network.cut(other, machine.name)
    if (ways !== 'in') cluster.network.cut(machine.name, other)
  }
  later(cluster, random.between(200, 8_000), () => cluster.network.mend())
}

/**
 * No manager reaches the primary. Replicas that hear the primary are a reason to wait: most often some do not, and
 * those that do go on acknowledging.
 */
export function loseSight(cluster: SimulatedCluster, random: SeededRandom, ms: number): void {
  const { primary } = cluster
  if (primary === undefined) return
  for (const manager of managers) {
    cluster.network.cut(primary.name, manager)
    cluster.network.cut(manager, primary.name)
  }
  const unheard = random.pick([0, 0.5, 0.5, 0.7, 1])
  for (const other of cluster.machines) if (random.chance(unheard)) cluster.network.cut(primary.name, other.name)
  later(cluster, ms, () => cluster.network.mend())
}

/** Messages are lost, one way or both, and late. */
export const networkFaults: FaultTable = {
  'the network is cut': [4, cutOff],
  'the network is slow': [
    1,
    (cluster, _, random) => {
      cluster.network.slowestMs = random.between(5, 400)
      later(cluster, random.between(500, 4_000), () => (cluster.network.slowestMs = 2))
    },
  ],
  'no manager reaches the primary, and somebody dies at a disk write': [
    2,
    (cluster, machine, random) => {
      loseSight(cluster, random, random.between(1_500, 5_000))
      dieAtWrite(cluster, machine, random)
    },
  ],
}
