import { later, restartAgent, strikeLater, type FaultTable } from '../faults/fault.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

function loseAll(cluster: SimulatedCluster, victims: readonly Machine[], random: SeededRandom): void {
  const withinMs = random.pick([0, 5, 300])
  for (const machine of victims)
    strikeLater(cluster, random.between(0, withinMs), () => {
      cluster.crashMachine(machine)
      restartAgent(cluster, machine, random.pick([100, 1_000, 6_000]))
    })
}

function killAll(cluster: SimulatedCluster, random: SeededRandom): void {
  const withinMs = random.pick([0, 5, 300])
  const withAgents = random.chance(0.4)
  for (const machine of cluster.machines)
    strikeLater(cluster, random.between(0, withinMs), () => {
      machine.mysqld?.die()
      if (!withAgents) return
      cluster.killAgent(machine)
      restartAgent(cluster, machine, random.pick([10, 500, 4_000]))
    })
}

function someOf(machines: readonly Machine[], count: number, random: SeededRandom): readonly Machine[] {
  return machines.toSorted(() => random.next() - 0.5).slice(0, count)
}

/** Two sides that do not hear each other; managers and clients hear both, or one of the two. */
function split(cluster: SimulatedCluster, random: SeededRandom): void {
  const { machines, network } = cluster
  const side = someOf(machines, 1 + random.below(Math.max(1, machines.length - 1)), random)
  const ms = random.pick([2_000, 8_000, 15_000, 30_000])
  const apart = machines.filter((machine) => !side.includes(machine)).map(({ name }) => name)
  const unheard = random.pick([[], [], ['manager-0', 'manager-1'], ['manager-0', 'manager-1', 'clients']])
  for (const { name } of side) for (const other of [...apart, ...unheard]) network.separate(name, other)
  later(cluster, ms, () => {
    for (const { name } of side) for (const other of [...apart, ...unheard]) network.join(name, other)
  })
}

function cutOff(cluster: SimulatedCluster, { name }: Machine, random: SeededRandom): void {
  const others = cluster.machines.filter((other) => other.name !== name)
  const ms = random.pick([3_000, 7_000, 12_000, 30_000])
  const isOneWay = random.chance(0.3)
  for (const other of others) {
    cluster.network.cut(name, other.name)
    if (!isOneWay) cluster.network.cut(other.name, name)
  }
  later(cluster, ms, () => {
    for (const other of others) cluster.network.join(name, other.name)
  })
}

/** What befalls many members of one group at a time. */
export const groupFaults: FaultTable = {
  'everybody loses power': [0, (cluster, _, random) => loseAll(cluster, cluster.machines, random)],
  'a majority loses power': [
    0,
    (cluster, _, random) => {
      const { machines } = cluster
      loseAll(cluster, someOf(machines, Math.floor(machines.length / 2) + 1, random), random)
    },
  ],
  'all servers are killed': [0, (cluster, _, random) => killAll(cluster, random)],
  'the group is split': [0, (cluster, _, random) => split(cluster, random)],
  'a member is cut off from the others': [0, cutOff],
}
