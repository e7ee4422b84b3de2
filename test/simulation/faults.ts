import { usualApplyMs, type Machine } from './machine.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

const managers = ['manager-0', 'manager-1']

type Fault = (cluster: SimulatedCluster, machine: Machine, random: SeededRandom) => void

function later(cluster: SimulatedCluster, ms: number, task: () => void): void {
  cluster.time.after(ms, task)
}

function restartAgent(cluster: SimulatedCluster, machine: Machine, ms: number): void {
  later(cluster, ms, () => cluster.startAgent(machine))
}

/** The agent dies at a disk write that comes: before anything of the write, in the middle, or right after. */
function dieAtWrite(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const moment = random.pick(['beforeWrite', 'afterWrite'] as const)
  const laterMs = random.chance(0.5) ? 0 : random.between(0, 12)
  let left = random.pick([0, 0, 0, 1, 2])
  const act = random.chance(0.3) ? () => cluster.crashMachine(machine) : () => cluster.killAgent(machine)
  machine.disk[moment] = () => {
    left -= 1
    if (left >= 0) return
    machine.disk[moment] = () => undefined
    later(cluster, laterMs, () => {
      act()
      restartAgent(cluster, machine, random.pick([5, 50, 500, 3_000]))
    })
  }
}

function askForSwitchover(cluster: SimulatedCluster, to: Machine, random: SeededRandom): void {
  const manager = cluster.managers.find((one) => one?.loop.leads === true && one.life.runs)
  manager?.life.enter(() =>
    manager.loop.addRequest({
      kind: 'switchover',
      id: random.hex(8),
      to: random.chance(0.5) ? to.name : null,
      deadlineWallMs: manager.life.world.clock.wallMs() + 10_000,
      reason: 'asked for',
    }),
  )
}

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

const table: Readonly<Record<string, readonly [weight: number, fault: Fault]>> = {
  'mysqld is killed': [4, (_, machine) => machine.mysqld?.die()],
  'the agent dies': [
    3,
    (cluster, machine, random) => {
      cluster.killAgent(machine)
      restartAgent(cluster, machine, random.between(10, 3_000))
    },
  ],
  'agent and mysqld die': [
    2,
    (cluster, machine, random) => {
      cluster.killAgent(machine)
      machine.mysqld?.die()
      restartAgent(cluster, machine, random.between(10, 5_000))
    },
  ],
  'the machine crashes': [
    3,
    (cluster, machine, random) => {
      cluster.crashMachine(machine)
      restartAgent(cluster, machine, random.between(100, 8_000))
    },
  ],
  'mysqld freezes': [
    2,
    (cluster, { mysqld }, random) => {
      mysqld?.freeze()
      later(cluster, random.between(100, 8_000), () => mysqld?.thaw())
    },
  ],
  'the agent freezes': [
    2,
    (cluster, { agentLife }, random) => {
      agentLife?.freeze()
      later(cluster, random.between(100, 9_000), () => agentLife?.thaw())
    },
  ],
  'the machine is paused': [
    2,
    (cluster, { agentLife, mysqld }, random) => {
      agentLife?.freeze()
      mysqld?.freeze()
      later(cluster, random.between(100, 9_000), () => {
        mysqld?.thaw()
        agentLife?.thaw()
      })
    },
  ],
  'a stranger stops mysqld': [2, (_, machine) => machine.mysqld?.stopInOrder()],
  'the network is cut': [4, cutOff],
  'the network is slow': [
    1,
    (cluster, _, random) => {
      cluster.network.slowestMs = random.between(5, 400)
      later(cluster, random.between(500, 4_000), () => (cluster.network.slowestMs = 2))
    },
  ],
  'the agent dies at a disk write': [4, dieAtWrite],
  'a manager dies': [
    3,
    (cluster, _, random) => {
      const index = random.below(cluster.managers.length)
      cluster.killManager(index)
      later(cluster, random.between(50, 4_000), () => cluster.startManager(index))
    },
  ],
  'a manager freezes': [
    2,
    (cluster, _, random) => {
      const life = random.pick(cluster.managers)?.life
      life?.freeze()
      later(cluster, random.between(100, 7_000), () => life?.thaw())
    },
  ],
  'the store is cut off from a manager': [
    2,
    (cluster, _, random) => {
      const manager = `manager-${random.below(cluster.managers.length)}`
      const [from, to] = random.chance(0.5) ? [manager, 'store'] : ['store', manager]
      cluster.network.cut(from, to)
      later(cluster, random.between(200, 6_000), () => cluster.network.mend())
    },
  ],
  'a switchover is asked for': [3, askForSwitchover],
  'a switchover is asked for, and somebody dies at a disk write': [
    2,
    (cluster, machine, random) => {
      dieAtWrite(cluster, machine, random)
      askForSwitchover(cluster, random.pick(cluster.machines), random)
    },
  ],
  'no manager reaches the primary, and somebody dies at a disk write': [
    2,
    (cluster, machine, random) => {
      const primary = cluster.primary
      if (primary === undefined) return
      for (const manager of managers) {
        cluster.network.cut(primary.name, manager)
        cluster.network.cut(manager, primary.name)
      }
      // Replicas that hear the primary are a reason to wait.
      const heard = random.chance(0.5)
      for (const other of cluster.machines) if (heard) cluster.network.cut(primary.name, other.name)
      dieAtWrite(cluster, machine, random)
      later(cluster, random.between(1_500, 5_000), () => cluster.network.mend())
    },
  ],
  'the applier stands still': [
    2,
    (cluster, { mysqld }, random) => {
      if (mysqld === null) return
      mysqld.appliesNothing = true
      later(cluster, random.between(200, 4_000), () => {
        mysqld.appliesNothing = false
        mysqld.apply()
      })
    },
  ],
}

const names = Object.entries(table).flatMap(([name, [weight]]) => Array.from({ length: weight }, () => name))

/** Some kinds of faults: those of one schedule. Few kinds meet each other more often than all do. */
export function drawKinds(random: SeededRandom): readonly string[] {
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
  cluster.network.mend()
  cluster.network.slowAt.clear()
  for (const machine of cluster.machines) {
    machine.slowestApplyMs = usualApplyMs
    machine.disk.beforeWrite = machine.disk.afterWrite = () => undefined
    if (machine.mysqld !== null) machine.mysqld.appliesNothing = false
    machine.mysqld?.thaw()
    machine.mysqld?.apply()
    machine.agentLife?.thaw()
    cluster.startAgent(machine)
  }
  for (const [index, manager] of cluster.managers.entries()) {
    manager?.life.thaw()
    cluster.startManager(index)
  }
}
