import { drift } from '../process-life.ts'
import type { FaultTable } from './fault.ts'

const stepsMs = [-86_400_000, -60_000, -5_000, 5_000, 60_000, 86_400_000]

/** Clocks of machines drift, and wall clocks are set by somebody. */
export const clockFaults: FaultTable = {
  'a clock drifts': [1, (cluster, { clock }, random) => drift(clock, cluster.time, random.between(0.9, 1.1))],
  'a wall clock is set': [
    1,
    (cluster, machine, random) => {
      const clock = random.pick([...cluster.managerClocks, ...cluster.managerClocks, machine.clock])
      clock.wallStepMs += random.pick(stepsMs)
    },
  ],
}
