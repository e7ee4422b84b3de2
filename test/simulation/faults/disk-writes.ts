import { askForSwitchover } from '../operations/requests.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { restartAgent, strikeLater, type FaultTable } from './fault.ts'

/** The agent dies at a disk write that comes: before anything of the write, in the middle, or right after. */
export function dieAtWrite(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const moment = random.pick(['beforeWrite', 'afterWrite'] as const)
  const laterMs = random.chance(0.5) ? 0 : random.between(0, 12)
  let left = random.pick([0, 0, 0, 1, 2])
  const act = random.chance(0.3) ? () => cluster.crashMachine(machine) : () => cluster.killAgent(machine)
  machine.disk[moment] = () => {
    left -= 1
    if (left >= 0) return
    machine.disk[moment] = () => undefined
    strikeLater(cluster, laterMs, () => {
      act()
      restartAgent(cluster, machine, random.pick([5, 50, 500, 3_000]))
    })
  }
}

export const diskFaults: FaultTable = {
  'the agent dies at a disk write': [4, dieAtWrite],
  'a switchover is asked for, and somebody dies at a disk write': [
    2,
    (cluster, machine, random) => {
      dieAtWrite(cluster, machine, random)
      askForSwitchover(cluster, random.pick(cluster.machines), random)
    },
  ],
}
