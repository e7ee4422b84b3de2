import { instanceOf } from '#topology/snapshot/member.ts'
import { later, restartAgent, strikeLater, type FaultTable } from '../faults/fault.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** A person forms the group once more at one member, while its agent stands still; the primary may die meanwhile. */
function formByHand(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const ms = random.between(1_000, 5_000)
  machine.agentLife?.freeze()
  void cluster.groups?.pluginOf(machine.mysqld)?.formByHand()
  later(cluster, ms, () => machine.agentLife?.thaw())
  const { record, machines } = cluster
  const primary = record && machines.find(({ name }) => name === instanceOf(record.primary))
  if (primary === undefined || primary === machine || !random.chance(0.7)) return
  strikeLater(cluster, random.between(500, ms + 200), () => {
    cluster.killAgent(primary)
    primary.mysqld?.die()
    restartAgent(cluster, primary, random.between(2_000, 9_000))
  })
}

/** A secondary takes writes, and somebody may write there. */
function openByHand(cluster: SimulatedCluster, machine: Machine, random: SeededRandom): void {
  const { mysqld } = machine
  const member = cluster.groups?.memberAt(machine)
  if (mysqld?.isUp !== true || member?.isOnline !== true || member.agreed.primary === member) return
  mysqld.readOnly = mysqld.superReadOnly = false
  mysqld.isOpenByHand = true
  if (random.chance(0.5)) mysqld.commitNew(false, () => undefined)
}

/** What people do to the servers of a group by themselves. */
export const handMoments: FaultTable = {
  'another hand forms the group again': [0, formByHand],
  'another hand opens a secondary': [0, openByHand],
  'another hand has all members write': [0, (cluster, { mysqld }) => cluster.groups?.pluginOf(mysqld)?.letAllWrite()],
}
