import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { Machine } from '../machine.ts'
import { later, type FaultTable } from '../faults/fault.ts'
import { ask, askForSwitchover } from './requests.ts'

const dryRun = false
/** A commit that was made for a person who has an answer may reach the store so much later. */
const underWayMs = 10_000

export function resume(cluster: SimulatedCluster): void {
  void ask(cluster, 'no pause', (operations) => operations.perform('resume', { dryRun }))
}

export function unfence(cluster: SimulatedCluster, { name }: Machine): void {
  void ask(cluster, `no fence around ${name}`, (operations) =>
    operations.perform('unfence', { instance: name, dryRun }),
  )
}

export function failOver(cluster: SimulatedCluster, to: Machine | undefined, acceptLoss: boolean): void {
  const what = `a failover${acceptLoss ? ', whatever is lost' : ''}`
  cluster.acceptingLoss += acceptLoss ? 1 : 0
  if (acceptLoss && to !== undefined) cluster.namedByPeople.add(to.name)
  void ask(cluster, what, (operations) => operations.perform('failover', { to: to?.name, acceptLoss, dryRun })).then(
    () => cluster.time.after(underWayMs, () => (cluster.acceptingLoss -= acceptLoss ? 1 : 0)),
  )
}

function scale(cluster: SimulatedCluster, random: SeededRandom): void {
  const instances = random.pick([1, 2, 3, 3, 4, 5])
  void ask(cluster, `${instances} instances`, (operations) => operations.perform('scale', { instances, dryRun }))
}

/** What people ask for, at bad moments. */
export const operatorCommands: FaultTable = {
  'a switchover is asked for': [3, askForSwitchover],
  'a failover is asked for': [
    1,
    (cluster, machine, random) => failOver(cluster, random.chance(0.5) ? machine : undefined, false),
  ],
  'a failover with loss is asked for': [
    1,
    (cluster, machine, random) => {
      cluster.primary?.mysqld?.die()
      later(cluster, random.between(0, 300), () => failOver(cluster, random.chance(0.5) ? machine : undefined, true))
    },
  ],
  'the cluster is paused for a while': [
    1,
    (cluster, _, random) => {
      void ask(cluster, 'a pause', (operations) => operations.perform('pause', { reason: 'a schedule', dryRun }))
      later(cluster, random.between(200, 4_000), () => resume(cluster))
    },
  ],
  'somebody is fenced for a while': [
    2,
    (cluster, machine, random) => {
      const { name: instance } = machine
      const keepPrimary = random.chance(0.3)
      void ask(cluster, `a fence around ${instance}`, (operations) =>
        operations.perform('fence', { instance, keepPrimary, dryRun }),
      )
      later(cluster, random.between(200, 4_000), () => unfence(cluster, machine))
    },
  ],
  'the cluster is scaled': [3, (cluster, _, random) => scale(cluster, random)],
  'an instance is replaced': [
    2,
    (cluster, { name: instance }) =>
      void ask(cluster, `another ${instance}`, (operations) =>
        operations.perform('replace', { instance, acceptLoss: false, dryRun }),
      ),
  ],
  'a pod is told to end': [2, (_, machine) => void (machine.isTerminating = true)],
}
