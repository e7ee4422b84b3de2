import { operatorCommands } from '../operations/people.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { groupFaults } from '../group/faults.ts'
import { handMoments } from '../group/hands.ts'
import { groupMoments } from '../group/moments.ts'
import { farFaults } from '../far/faults.ts'
import { routerFaults } from '../routers/faults.ts'
import { aimedFaults } from './aimed.ts'
import { clockFaults } from './clocks.ts'
import { diskFaults } from './disk-writes.ts'
import type { FaultTable } from './fault.ts'
import { hands } from './hands.ts'
import { networkFaults } from './network.ts'
import { processFaults } from './processes.ts'
import { storeFaults } from './stores.ts'
import { togetherFaults } from './together.ts'
import { volumeFaults } from './volumes.ts'

const table: FaultTable = {
  ...processFaults,
  ...networkFaults,
  ...diskFaults,
  ...storeFaults,
  ...aimedFaults,
  ...volumeFaults,
  ...clockFaults,
  ...operatorCommands,
  ...hands,
  ...togetherFaults,
  ...groupFaults,
  ...groupMoments,
  ...handMoments,
  ...farFaults,
  ...routerFaults,
}

const names = Object.entries(table).flatMap(([name, [weight]]) => Array.from({ length: weight }, () => name))

const aimed = Object.keys(aimedFaults)

/** Some kinds of faults: those of one schedule. Few kinds meet each other more often than all do. */
export function drawKinds(random: SeededRandom): readonly string[] {
  // Half of all schedules are about orders of steps: strikes that are aimed, and one more kind.
  if (random.chance(0.5)) return [random.pick(aimed), random.pick(aimed), random.pick(aimed), random.pick(names)]
  return Array.from({ length: random.pick([2, 3, 4, 8, 16]) }, () => random.pick(names))
}

/** One fault of these kinds, at one machine: the primary's as often as all others' together. */
export function strike(cluster: SimulatedCluster, kinds: readonly string[], random: SeededRandom): void {
  const { primary } = cluster
  const machine = primary !== undefined && random.chance(0.4) ? primary : random.pick(cluster.machines)
  const name = random.pick(kinds)
  cluster.say(`── ${name} (${machine.name})`)
  table[name]?.[1](cluster, machine, random)
}
