import { orders } from '#failover/protocol/order.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { whenNext } from '../faults/aim.ts'
import { later, managers, restartAgent, strikeLater, type FaultTable } from '../faults/fault.ts'
import type { Machine } from '../machine.ts'
import { ask } from '../operations/requests.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { removalMoments, unheardMoments } from './removal-moments.ts'

function primaryOf({ record, machines }: SimulatedCluster): Machine | undefined {
  return record && machines.find(({ name }) => name === instanceOf(record.primary))
}

function othersThan({ machines }: SimulatedCluster, machine: Machine): readonly Machine[] {
  return machines.filter((other) => other !== machine)
}

function separate({ network }: SimulatedCluster, { name }: Machine, others: readonly string[]): void {
  for (const other of others) network.separate(name, other)
}

function joinAgain(cluster: SimulatedCluster, { name }: Machine, others: readonly string[], ms: number): void {
  later(cluster, ms, () => {
    for (const other of others) cluster.network.join(name, other)
  })
}

/** Every server dies at one moment, so that the group is formed anew. */
function killAll({ machines }: SimulatedCluster): void {
  for (const { mysqld } of machines) mysqld?.die()
}

/** What a majority has received comes late to the primary, which has it not on its disk when all die. */
function killAllWhileThePrimaryLags(cluster: SimulatedCluster, random: SeededRandom): void {
  const primary = primaryOf(cluster)
  if (primary === undefined) return
  cluster.network.slowAt.set(primary.name, random.pick([50, 150, 400]))
  strikeLater(cluster, random.between(100, 900), () => {
    killAll(cluster)
    cluster.network.slowAt.delete(primary.name)
  })
}

/** The server that forms a group dies right after that, and no manager reaches its agent. */
function strikeTheFormer(cluster: SimulatedCluster, random: SeededRandom): void {
  const [ms, forMs] = [random.between(2, 80), random.between(2_000, 6_000)]
  whenNext(
    cluster,
    ({ kind }) => kind === 'formed',
    (happening) => {
      if (happening.kind !== 'formed') return
      const { machine } = happening
      strikeLater(cluster, ms, () => {
        separate(cluster, machine, managers)
        machine.mysqld?.die()
        joinAgain(cluster, machine, managers, forMs)
      })
    },
  )
  killAll(cluster)
}

/** Nobody hears anybody. Once somebody has promised all hear each other again, and no manager reaches the others. */
function splitUntilOnePromises(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const { machines, network } = cluster
  const everybody = machines.map(({ name }) => name)
  const others = othersThan(cluster, machine)
  for (const one of machines) separate(cluster, one, everybody)
  for (const { name } of others) network.slowAt.set(name, 300)
  const forMs = random.between(1_000, 4_000)
  const mend = (): void => {
    for (const one of machines) joinAgain(cluster, one, everybody, 0)
    for (const { name } of others) network.slowAt.delete(name)
  }
  whenNext(
    cluster,
    (happening) =>
      happening.kind === 'ordered' && happening.path === orders.promise.route && happening.machine === machine,
    () => {
      mend()
      for (const other of others) {
        separate(cluster, other, managers)
        joinAgain(cluster, other, managers, forMs)
      }
    },
  )
  later(cluster, 14_000, mend)
}

/**
 * A member was away for long, or is taken away. It is heard again, and no order reaches it for a while: it joins by
 * what it was told before.
 */
function comeBackUntold(cluster: SimulatedCluster, random: SeededRandom, takenAway = 0.3): void {
  const leaver = cluster.machines.at(-1)
  if (leaver === undefined || leaver === primaryOf(cluster)) return
  const others = othersThan(cluster, leaver).map(({ name }) => name)
  if (others.some((other) => !cluster.network.reachesBothWays(other, leaver.name))) return
  const instances = cluster.machines.length - 1
  const isTaken = random.chance(takenAway)
  separate(cluster, leaver, others)
  strikeLater(cluster, random.between(7_000, 15_000), () => {
    for (const manager of managers) cluster.network.cut(manager, leaver.name)
    if (isTaken)
      void ask(cluster, `${instances} instances`, (operations) =>
        operations.perform('scale', { instances, dryRun: false }),
      )
    joinAgain(cluster, leaver, others, random.between(20, 1_500))
    joinAgain(cluster, leaver, managers, 6_000)
  })
}

/** The same of one that is taken away for sure, which takes long. */
function leaveUntold(cluster: SimulatedCluster, random: SeededRandom): void {
  cluster.platform.lateMs = random.between(500, 5_000)
  comeBackUntold(cluster, random, 1)
}

/** The elected one has not applied what it received, and hears no majority for a while. */
function closeWhoLags(cluster: SimulatedCluster, random: SeededRandom): void {
  const primary = primaryOf(cluster)
  if (primary === undefined) return
  for (const { mysqld } of othersThan(cluster, primary)) {
    if (mysqld === null) continue
    mysqld.appliesNothing = true
    later(cluster, random.between(14_000, 18_000), () => {
      mysqld.appliesNothing = false
      mysqld.apply()
    })
  }
  strikeLater(cluster, random.between(300, 900), () => {
    cluster.killAgent(primary)
    primary.mysqld?.die()
    restartAgent(cluster, primary, 16_000)
  })
  strikeLater(cluster, random.between(2_500, 8_000), () => {
    const others = othersThan(cluster, primary)
    const names = others.map(({ name }) => name)
    for (const other of others) separate(cluster, other, names)
    for (const other of others) joinAgain(cluster, other, names, random.between(6_000, 8_000))
  })
}

/** No manager reaches its agent, and some of the others do not hear its server. */
function hideFromSome(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const others = othersThan(cluster, machine).map(({ name }) => name)
  const unheard = [...managers, ...others.slice(0, 1 + random.below(others.length))]
  const ms = random.pick([2_000, 4_000, 9_000])
  strikeLater(cluster, random.pick([0, 2_000, 5_000]), () => {
    separate(cluster, machine, unheard)
    joinAgain(cluster, machine, unheard, ms)
  })
}

/** Every agent stands still, and no manager reaches one of them for a little longer. */
function freezeAllAgents(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const ms = random.between(1_000, 6_000)
  for (const { agentLife } of cluster.machines) {
    agentLife?.freeze()
    later(cluster, ms, () => agentLife?.thaw())
  }
  separate(cluster, machine, managers)
  joinAgain(cluster, machine, managers, ms + random.between(500, 3_000))
}

/** Moments of a group that come together seldom by themselves. */
export const groupMoments: FaultTable = {
  'all servers are killed while the primary lags': [
    0,
    (cluster, _, random) => killAllWhileThePrimaryLags(cluster, random),
  ],
  'all servers are killed, and the one that forms the group dies': [
    0,
    (cluster, _, random) => strikeTheFormer(cluster, random),
  ],
  'nobody hears anybody until one promises': [0, splitUntilOnePromises],
  'a member comes back and is not told': [0, (cluster, _, random) => comeBackUntold(cluster, random)],
  'a member is taken away, comes back and is not told': [0, (cluster, _, random) => leaveUntold(cluster, random)],
  'the elected one lags and is closed for a while': [0, (cluster, _, random) => closeWhoLags(cluster, random)],
  'a member is unheard by some and by every manager': [0, hideFromSome],
  'all agents stand still': [0, freezeAllAgents],
  ...removalMoments,
  ...unheardMoments,
}
