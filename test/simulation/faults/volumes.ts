import type { Groups } from '../group/groups.ts'
import { emptyVolume, type Machine, type VolumeSnapshot } from '../machine.ts'
import { notesOf } from '../operations/after-healing.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { restartAgent, strikeLater, type FaultTable } from './fault.ts'

/**
 * Whether what is acknowledged survives the loss of one volume: k others have what the primary has. A second loss is
 * one too many in a schedule, whatever Regent does.
 */
function canSpareOne({ record, machines, groups }: SimulatedCluster): boolean {
  const isFirst = machines.every(({ goneMember }) => goneMember === undefined)
  if (groups !== null) return isFirst && groupSparesOne(groups, machines)
  return isFirst && record !== undefined && record.acks > 0 && record.syncSet.length >= record.acks
}

/** Every other member has executed all that its group agreed on: nothing is in one memory alone. */
function groupSparesOne(groups: Groups, machines: readonly Machine[]): boolean {
  const members = machines.map((machine) => groups.memberAt(machine))
  return machines.length > 1 && members.every((member) => member?.isOnline === true && member.hearsMajority())
}

function putBack(cluster: SimulatedCluster, machine: Machine, volume: VolumeSnapshot, random: SeededRandom): void {
  if (!canSpareOne(cluster)) return
  cluster.say(`the volume of ${machine.name} is another one`)
  cluster.putVolume(machine, volume)
  restartAgent(cluster, machine, random.between(50, 3_000))
}

/** Volumes are cut off, lost, and put back as they once were. */
export const volumeFaults: FaultTable = {
  'the volume is mounted again': [
    2,
    (cluster, machine, random) => {
      cluster.killAgent(machine)
      machine.mountAgain()
      restartAgent(cluster, machine, random.between(50, 3_000))
    },
  ],
  'the volume is lost': [2, (cluster, machine, random) => putBack(cluster, machine, emptyVolume, random)],
  'the volume goes back in time': [
    3,
    (cluster, machine, random) => {
      const snapshot = machine.snapshot()
      const before = cluster.observation(machine.name)?.stored.incarnation
      cluster.killAgent(machine)
      restartAgent(cluster, machine, random.between(5, 50))
      strikeLater(cluster, random.between(500, 4_000), () => {
        if (isNotedSince(cluster, machine, before)) putBack(cluster, machine, snapshot, random)
      })
    },
  ],
}

/**
 * Whoever goes back to before a start of the agent that a manager has noted is found out. A copy of the newest start is
 * not (docs/why/safety.md, "What is not covered").
 */
function isNotedSince(cluster: SimulatedCluster, { name }: Machine, before: string | undefined): boolean {
  const seen = cluster.observation(name)
  const newest = seen && notesOf(cluster)?.incarnations[seen.member]?.[0]
  return newest !== undefined && newest !== before && newest === seen?.stored.incarnation
}
