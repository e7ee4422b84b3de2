import { orders } from '#failover/protocol/order.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import { askForSwitchover } from '../operations/requests.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { aimAt, aimAtManager, blows, whenNext } from './aim.ts'
import { later, restartAgent, strikeLater, type FaultTable } from './fault.ts'
import { loseSight } from './network.ts'

/** Whom a second blow is meant for, looked up when that blow is due. */
type Role = 'primary' | 'former' | 'replica' | 'ordered' | 'manager'

const isPromise = (happening: Happening): boolean =>
  happening.kind === 'ordered' && happening.path === orders.promise.route

/** Something that takes the lead from the primary, each in another way. */
const falls: readonly ((cluster: SimulatedCluster, primary: Machine, random: SeededRandom) => void)[] = [
  (_, primary) => primary.mysqld?.die(),
  (cluster, primary, random) => {
    cluster.crashMachine(primary)
    restartAgent(cluster, primary, random.pick([50, 500, 3_000]))
  },
  (cluster, { mysqld, agentLife }, random) => {
    mysqld?.freeze()
    if (random.chance(0.5)) agentLife?.freeze()
    later(cluster, random.between(1_200, 4_000), () => {
      mysqld?.thaw()
      agentLife?.thaw()
    })
  },
  // Writes go on right while others promise.
  (cluster, { mysqld, agentLife }, random) => {
    mysqld?.freeze()
    if (random.chance(0.5)) agentLife?.freeze()
    const thaw = (): void => {
      mysqld?.thaw()
      agentLife?.thaw()
    }
    const ms = random.between(0, 30)
    whenNext(cluster, isPromise, () => later(cluster, ms, thaw))
    later(cluster, random.between(2_000, 4_000), thaw)
  },
  (cluster, _, random) => {
    loseSight(cluster, random, 6_000)
    const ms = random.between(0, 30)
    whenNext(cluster, isPromise, () => later(cluster, ms, () => cluster.network.mend()))
  },
  (cluster, _, random) => loseSight(cluster, random, random.between(1_500, 5_000)),
  (_, primary) => primary.mysqld?.stopInOrder(),
]

/** A replica that is behind, in what arrives or in what is applied, for a while. */
function letOneLag(cluster: SimulatedCluster, random: SeededRandom): void {
  const lagging = random.pick(cluster.machines)
  const ms = random.between(300, 3_000)
  if (random.chance(0.5)) {
    const { mysqld } = lagging
    if (mysqld === null) return
    mysqld.appliesNothing = true
    later(cluster, ms, () => {
      mysqld.appliesNothing = false
      mysqld.apply()
    })
  } else {
    cluster.network.slowAt.set(lagging.name, random.pick([20, 100, 400]))
    later(cluster, ms, () => void cluster.network.slowAt.delete(lagging.name))
  }
}

function machineIn(role: Role, { cluster, former, happening }: Scene, random: SeededRandom): Machine | undefined {
  const primary = primaryOf(cluster)
  if (role === 'primary') return primary
  if (role === 'former') return former
  if (role === 'ordered' && happening?.kind === 'ordered') return happening.machine
  return random.pick(cluster.machines.filter((machine) => machine !== primary && machine !== former).concat(former))
}

interface Scene {
  readonly cluster: SimulatedCluster
  /** The primary before anything happened. */
  readonly former: Machine
  readonly happening?: Happening
}

const isElection = (happening: Happening): boolean =>
  happening.kind === 'committed' && happening.record.epoch !== happening.before?.epoch

/** When somebody begins to be aimed at. */
const triggers: readonly ((happening: Happening) => boolean)[] = [
  isPromise,
  isPromise,
  (happening) => happening.kind === 'ordered' && happening.path === orders.assign.route,
  (happening) => happening.kind === 'ordered' && happening.path === orders.fetch.route,
  (happening) => happening.kind === 'ordered' && happening.path === orders.demote.route,
  isElection,
  isElection,
  (happening) => happening.kind === 'opened',
]

function aimLater(scene: Scene, random: SeededRandom): void {
  const { cluster } = scene
  const role = random.pick<Role>(['primary', 'former', 'replica', 'ordered', 'ordered', 'manager'])
  const draws = random.fork()
  const aim = (happening?: Happening): void => {
    if (role === 'manager') return aimAtManager(cluster, draws)
    aimAt(cluster, machineIn(role, happening === undefined ? scene : { ...scene, happening }, draws), draws)
  }
  if (random.chance(0.2)) return aim()
  whenNext(cluster, random.pick(triggers), aim)
}

function primaryOf({ record, machines }: SimulatedCluster): Machine | undefined {
  return record && machines.find(({ name }) => name === instanceOf(record.primary))
}

/** Those who fall are followed by those who take over, within moments. */
function strikeElected(scene: Scene, random: SeededRandom): void {
  const { cluster } = scene
  const [blow, draws] = [random.pick(blows), random.fork()]
  const ms = random.pick([0, 2, 5, 15, 40, 100])
  whenNext(cluster, random.chance(0.7) ? isElection : ({ kind }) => kind === 'opened', () =>
    strikeLater(cluster, ms, () => {
      const elected = primaryOf(cluster)
      if (elected !== undefined) blow(cluster, elected, draws)
    }),
  )
}

/** Each aims at one to three programs, at steps that follow from what is struck first. */
export const aimedFaults: FaultTable = {
  'the primary falls, and others are struck at their steps': [
    14,
    (cluster, _, random) => {
      const former = primaryOf(cluster)
      if (former === undefined) return
      if (random.chance(0.4)) letOneLag(cluster, random)
      for (let aims = random.pick([1, 1, 2, 3]); aims > 0; aims -= 1) aimLater({ cluster, former }, random)
      random.pick(falls)(cluster, former, random)
    },
  ],
  'the primary falls, and so does the elected one': [
    7,
    (cluster, _, random) => {
      const former = primaryOf(cluster)
      if (former === undefined) return
      if (random.chance(0.5)) letOneLag(cluster, random)
      strikeElected({ cluster, former }, random)
      if (random.chance(0.4)) aimLater({ cluster, former }, random)
      random.pick(falls)(cluster, former, random)
    },
  ],
  'a switchover is asked for, and others are struck at their steps': [
    6,
    (cluster, machine, random) => {
      const former = primaryOf(cluster)
      if (former === undefined) return
      if (random.chance(0.3)) letOneLag(cluster, random)
      for (let aims = random.pick([1, 1, 2]); aims > 0; aims -= 1) aimLater({ cluster, former }, random)
      if (random.chance(0.2)) strikeElected({ cluster, former }, random)
      askForSwitchover(cluster, machine, random)
    },
  ],
  'somebody is struck at a step': [3, aimAt],
  'the manager is struck at a step': [2, (cluster, _, random) => aimAtManager(cluster, random)],
}
