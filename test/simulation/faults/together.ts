import { type PromiseOrder, orders } from '#failover/protocol/order.ts'
import type { Machine } from '../machine.ts'
import { askForSwitchover } from '../operations/requests.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { later, managers, restartAgent, strikeLater, type FaultTable } from './fault.ts'

function othersThan(cluster: SimulatedCluster, machine: Machine): readonly Machine[] {
  return cluster.machines.filter((other) => other !== machine)
}

/** What arrives there comes late, and what has come is not applied, for a while. */
function letLag({ network, time }: SimulatedCluster, machine: Machine, ms: number): void {
  const { mysqld } = machine
  network.slowAt.set(machine.name, 300)
  if (mysqld !== null) mysqld.appliesNothing = true
  time.after(ms, () => {
    network.slowAt.delete(machine.name)
    if (mysqld === null) return
    mysqld.appliesNothing = false
    mysqld.apply()
  })
}

/** What a replica acknowledged is in its page cache when the power goes, and comes again only late. */
function crashOneThatLags(cluster: SimulatedCluster, random: SeededRandom): void {
  const { primary } = cluster
  const replica = random.pick(primary === undefined ? cluster.machines : othersThan(cluster, primary))
  if (replica.mysqld !== null) replica.mysqld.appliesNothing = true
  strikeLater(cluster, random.between(200, 800), () => {
    cluster.crashMachine(replica)
    cluster.network.slowAt.set(replica.name, random.pick([0, 100, 400]))
    later(cluster, 4_000, () => void cluster.network.slowAt.delete(replica.name))
    restartAgent(cluster, replica, 50)
    if (random.chance(0.5)) return
    const ms = random.between(80, 1_500)
    strikeLater(cluster, ms, () => cluster.killAgent(replica))
    restartAgent(cluster, replica, ms + 30)
  })
}

/** Nobody is there to take over, and writes wait. */
function dieWithoutReplicas(cluster: SimulatedCluster, random: SeededRandom): void {
  const { primary } = cluster
  if (primary === undefined) return
  for (const replica of othersThan(cluster, primary)) {
    cluster.killAgent(replica)
    replica.mysqld?.die()
    restartAgent(cluster, replica, random.between(1_500, 4_000))
  }
  strikeLater(cluster, random.between(20, 600), () => {
    if (random.chance(0.3)) {
      cluster.killAgent(primary)
      restartAgent(cluster, primary, random.between(20, 400))
    }
    primary.mysqld?.die()
  })
}

/** The stop acknowledges what no replica has yet. */
function stopWhileReplicasLag(cluster: SimulatedCluster, random: SeededRandom): void {
  const { primary } = cluster
  if (primary === undefined) return
  for (const replica of othersThan(cluster, primary)) letLag(cluster, replica, random.between(500, 3_000))
  if (random.chance(0.4)) {
    cluster.killAgent(primary)
    restartAgent(cluster, primary, random.between(10, 100))
  }
  strikeLater(cluster, random.between(50, 500), () => primary.mysqld?.stopInOrder())
  if (random.chance(0.3)) strikeLater(cluster, random.between(300, 1_500), () => cluster.crashMachine(primary))
  if (random.chance(0.3)) for (const [index] of managers.entries()) restartManager(cluster, index, random)
}

function restartManager(cluster: SimulatedCluster, index: number, random: SeededRandom): void {
  strikeLater(cluster, random.between(400, 1_500), () => cluster.killManager(index))
  later(cluster, random.between(1_600, 2_500), () => cluster.startManager(index))
}

/** Longer than a lease: from everybody, or from all but some who are no majority. */
function cutOffForLong(cluster: SimulatedCluster, random: SeededRandom): void {
  const { primary, network } = cluster
  if (primary === undefined) return
  const others = othersThan(cluster, primary).map(({ name }) => name)
  const minority = random.chance(0.3) ? Math.ceil(cluster.machines.length / 2) - 2 : 0
  for (const other of [...managers, ...others.slice(Math.max(0, minority))]) {
    network.separate(primary.name, other)
    later(cluster, 11_000, () => network.join(primary.name, other))
  }
}

/** Who was gathered has promised, and goes on to receive. */
function strikeTheGathered(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  for (const each of cluster.machines) if (random.chance(0.5)) letLag(cluster, each, 2_000)
  const isCrash = random.chance(0.5)
  const stop = cluster.onHappening((happening) => {
    if (happening.kind !== 'answered' || happening.path !== orders.promise.route) return
    const { keepReceiverFrom, member } = happening.order as PromiseOrder
    const gathered = cluster.machines.find(({ name }) => member.startsWith(`${name}@`))
    if (keepReceiverFrom === undefined || gathered === undefined) return
    stop()
    const candidate = cluster.machines.find(({ name }) => name === keepReceiverFrom)
    strikeLater(cluster, random.between(0, 60), () => {
      if (isCrash) {
        cluster.crashMachine(gathered)
        restartAgent(cluster, gathered, 50)
      } else candidate?.mysqld?.die()
    })
  })
  later(cluster, 5_000, stop)
  askForSwitchover(cluster, machine, random)
}

/** What rarely comes together by itself, and is dangerous together. */
export const togetherFaults: FaultTable = {
  'a replica that lags loses its power': [0, (cluster, _, random) => crashOneThatLags(cluster, random)],
  'the replicas are gone, and then the primary dies': [0, (cluster, _, random) => dieWithoutReplicas(cluster, random)],
  'a stranger stops mysqld while replicas lag': [0, (cluster, _, random) => stopWhileReplicasLag(cluster, random)],
  'the primary is cut off for longer than a lease': [0, (cluster, _, random) => cutOffForLong(cluster, random)],
  'a switchover is asked for, and the gathered are struck': [0, strikeTheGathered],
}
