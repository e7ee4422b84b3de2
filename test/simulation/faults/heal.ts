import { usualApplyMs, type Machine } from '../machine.ts'
import { letPeopleDecide } from '../operations/after-healing.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** Machines that apply slowly, and machines that are far away: what these hold differs for longer. */
export function slowDown({ machines, network }: SimulatedCluster, random: SeededRandom): void {
  if (random.chance(0.5)) return
  for (const machine of machines) {
    if (random.chance(0.4)) machine.slowestApplyMs = random.pick([20, 100, 400])
    if (random.chance(0.4)) network.slowAt.set(machine.name, random.pick([10, 50, 200]))
  }
}

/** Everything that was broken ends, and everybody is there again. */
export function heal(cluster: SimulatedCluster): void {
  cluster.say('── everything is healed')
  cluster.isHealed = true
  cluster.network.mend()
  cluster.network.slowAt.clear()
  cluster.weather.clear()
  cluster.platform.lateMs = 0
  // Also those that are scaled away: they may be wanted again.
  for (const machine of cluster.platform.everybody) healMachine(cluster, machine)
  for (const router of cluster.routers) {
    router.proxy.isSocketBroken = false
    router.thaw()
    router.start()
  }
  for (const [index, manager] of cluster.managers.entries()) {
    manager?.life.watchers.clear()
    manager?.life.thaw()
    cluster.startManager(index)
  }
  letPeopleDecide(cluster)
}

function healMachine(cluster: SimulatedCluster, machine: Machine): void {
  const { mysqld, agentLife } = machine
  machine.slowestApplyMs = usualApplyMs
  machine.isTerminating = machine.hangsUnseen = false
  machine.disk.beforeWrite = machine.disk.afterWrite = () => undefined
  if (mysqld !== null) {
    mysqld.appliesNothing = false
    mysqld.thaw()
    mysqld.locks.endAll()
    mysqld.apply()
  }
  machine.far?.heal()
  agentLife?.watchers.clear()
  agentLife?.thaw()
  cluster.startAgent(machine)
}
