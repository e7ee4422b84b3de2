import { orders } from '#failover/protocol/order.ts'
import { whenNext } from '../faults/aim.ts'
import { later, restartAgent, strikeLater, type FaultTable } from '../faults/fault.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { agentsPlace, roadTo, type RoadKind } from './roads.ts'

const both: readonly RoadKind[] = ['sql', 'ssh']

/** From the agents to a host, one way or both; for so long. */
function cutRoads(
  { network, time }: SimulatedCluster,
  { name }: Machine,
  kinds: readonly RoadKind[],
  ms: number,
): void {
  for (const kind of kinds) {
    network.separate(agentsPlace, roadTo(kind, name))
    time.after(ms, () => network.join(agentsPlace, roadTo(kind, name)))
  }
}

/** From its roads, the other servers, and perhaps its clients. */
function cutOffHost(cluster: SimulatedCluster, machine: Machine, random: SeededRandom, ms: number): void {
  const { network, time, machines } = cluster
  cutRoads(cluster, machine, both, ms)
  const others = machines.filter((other) => other !== machine).map(({ name }) => name)
  for (const other of [...others, ...(random.chance(0.5) ? ['clients'] : [])]) {
    network.separate(other, machine.name)
    time.after(ms, () => network.join(other, machine.name))
  }
}

/** The machine where all agents run, and one of the managers. */
function killAgents(cluster: SimulatedCluster, random: SeededRandom): void {
  cluster.killManager(0)
  for (const machine of cluster.machines) {
    cluster.killAgent(machine)
    restartAgent(cluster, machine, random.between(300, 4_000))
  }
  later(cluster, random.between(300, 4_000), () => cluster.startManager(0))
}

const salvageBlows: readonly ((cluster: SimulatedCluster, former: Machine, random: SeededRandom) => void)[] = [
  (cluster, _, random) => killAgents(cluster, random),
  (cluster, _, random) => {
    const index = cluster.managers.findIndex((one) => one?.loop.leads === true)
    if (index < 0) return
    cluster.killManager(index)
    later(cluster, random.between(300, 4_000), () => cluster.startManager(index))
  },
  (cluster, former, random) => cutRoads(cluster, former, random.pick([['ssh'], both]), random.between(200, 9_000)),
  (cluster, former) => cluster.crashMachine(former),
  (cluster, _, random) => cutRoads(cluster, random.pick(cluster.machines), both, random.between(200, 9_000)),
  (cluster, _, random) => random.pick(cluster.machines).mysqld?.die(),
]

/** What befalls servers that are far from their agents. */
export const farFaults: FaultTable = {
  'a road of the agents is cut': [
    0,
    (cluster, machine, random) => {
      const kinds = random.pick<readonly RoadKind[]>([['sql'], ['ssh'], both])
      cutRoads(cluster, machine, kinds, random.pick([300, 900, 2_500, 5_000, 12_000]))
    },
  ],
  'both roads to the primary are cut': [
    0,
    (cluster, machine, random) =>
      cutRoads(cluster, cluster.primary ?? machine, both, random.pick([900, 2_500, 5_000, 12_000])),
  ],
  'a host is cut off from everybody': [
    0,
    (cluster, machine, random) => cutOffHost(cluster, machine, random, random.pick([900, 2_500, 5_000, 12_000])),
  ],
  'a host loses its power': [0, (cluster, machine) => cluster.crashMachine(machine)],
  'the machine of the agents dies': [0, (cluster, _, random) => killAgents(cluster, random)],
  'the agents stand still': [
    0,
    (cluster, _, random) => {
      const lives = [...cluster.machines.map(({ agentLife }) => agentLife), cluster.managers[0]?.life]
      for (const life of lives) life?.freeze()
      later(cluster, random.pick([300, 2_000, 8_000]), () => {
        for (const life of lives) life?.thaw()
      })
    },
  ],
  'mysqld hangs': [
    0,
    (cluster, machine, random) => {
      const { mysqld } = machine
      machine.hangsUnseen = true
      mysqld?.freeze()
      later(cluster, random.pick([300, 2_000, 5_000, 9_000]), () => {
        machine.hangsUnseen = false
        mysqld?.thaw()
      })
    },
  ],
  'the primary is cut off, and its successor dies once it is back': [
    0,
    (cluster, machine, random) => {
      const former = cluster.primary ?? machine
      cutOffHost(cluster, former, random, random.between(3_000, 6_000))
      const ms = random.between(50, 4_000)
      whenNext(cluster, isElection, () =>
        strikeLater(cluster, 3_000 + ms, () => {
          const next = cluster.primary
          if (next === undefined || next === former) return
          if (random.chance(0.5)) next.mysqld?.die()
          else cutOffHost(cluster, next, random, random.between(3_000, 6_000))
        }),
      )
    },
  ],
  'the primary dies with a tail, and the salvage is struck': [
    0,
    (cluster, machine, random) => {
      const former = cluster.primary ?? machine
      const replicas = cluster.machines.filter((other) => other !== former)
      const lagMs = random.pick([200, 600, 1_500])
      const apart = random.chance(0.7) ? replicas : [random.pick(replicas)]
      for (const { name } of apart) cluster.network.separate(former.name, name)
      const blow = random.pick(salvageBlows)
      const [isAtFetch, ms] = [random.chance(0.7), random.pick([0, 2, 10, 50, 300])]
      strikeLater(cluster, lagMs, () => {
        former.mysqld?.die()
        for (const { name } of apart) cluster.network.join(former.name, name)
        whenNext(cluster, isAtFetch ? isFetch : isPromise, () =>
          strikeLater(cluster, ms, () => blow(cluster, former, random)),
        )
      })
    },
  ],
}

type Happened = Parameters<Parameters<typeof whenNext>[1]>[0]

const isElection = (happening: Happened): boolean =>
  happening.kind === 'committed' && happening.record.epoch !== happening.before?.epoch
const isOrder =
  (route: string) =>
  (happening: Happened): boolean =>
    happening.kind === 'ordered' && happening.path === route
const isFetch = isOrder(orders.fetch.route)
const isPromise = isOrder(orders.promise.route)
