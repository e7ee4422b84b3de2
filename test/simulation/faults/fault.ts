import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** What goes wrong, at this machine if the kind is about one. Ends by itself, or with `heal`. */
export type Fault = (cluster: SimulatedCluster, machine: Machine, random: SeededRandom) => void

/** Kinds by name. The weight says how often a kind is drawn. */
export type FaultTable = Readonly<Record<string, readonly [weight: number, fault: Fault]>>

export const managers = ['manager-0', 'manager-1']

/** For what ends a fault, which may also come once everything is healed. */
export function later(cluster: SimulatedCluster, ms: number, task: () => void): void {
  cluster.time.after(ms, task)
}

/** For what goes wrong later: nothing once everything is healed. */
export function strikeLater(cluster: SimulatedCluster, ms: number, strike: () => void): void {
  cluster.time.after(ms, () => {
    if (!cluster.isHealed) strike()
  })
}

export function restartAgent(cluster: SimulatedCluster, machine: Machine, ms: number): void {
  later(cluster, ms, () => cluster.startAgent(machine))
}
