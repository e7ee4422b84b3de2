import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import { heldBy } from '../rules.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { later, type FaultTable } from './fault.ts'

function leads({ record }: SimulatedCluster, { name }: Machine): boolean {
  return record !== undefined && instanceOf(record.primary) === name
}

/** What is written while a copy takes the place of this one is in no archive: the archive was made before. */
function isGivenUp(cluster: SimulatedCluster, { name }: Machine): boolean {
  const seen = cluster.observation(name)
  return seen === undefined || seen.stored.seeding || seen.seedingProgress !== null
}

/** Nobody depends on what this one holds: all others of the sync set, and the primary, hold that too. */
function isSpare({ record, platform }: SimulatedCluster, machine: Machine): boolean {
  if (record === undefined) return false
  const others = [record.primary, ...record.syncSet].map(instanceOf).filter((name) => name !== machine.name)
  const held = heldBy(machine)
  return platform.machines.filter(({ name }) => others.includes(name)).every((other) => heldBy(other).contains(held))
}

/** Statements of people who log in to a server themselves. Agents put right what they can. */
export const hands: FaultTable = {
  'somebody makes a replica writable': [
    2,
    (cluster, machine, random) => {
      const { mysqld } = machine
      if (!mysqld?.isUp || leads(cluster, machine)) return
      mysqld.readOnly = mysqld.superReadOnly = mysqld.offline = false
      mysqld.isOpenByHand = true
      if (random.chance(0.5) && !isGivenUp(cluster, machine)) mysqld.commitNew(false, () => undefined)
    },
  ],
  'somebody writes on a replica': [
    2,
    (cluster, machine) => {
      if (leads(cluster, machine) || isGivenUp(cluster, machine)) return
      if (machine.mysqld?.isUp) machine.mysqld.commitNew(false, () => undefined)
    },
  ],
  'somebody switches acknowledgements off': [2, (cluster) => cluster.primary?.mysqld?.loosen()],
  'somebody stops replication': [
    1,
    (_, { mysqld }) => {
      if (!mysqld?.isUp) return
      mysqld.receiver.stop()
      mysqld.applierRuns = false
    },
  ],
  'somebody throws away what is received': [
    2,
    (cluster, machine) => {
      if (leads(cluster, machine)) return
      const before = machine.thrownAway
      machine.throwAwayReceived()
      // An agent that dies before it looks again cannot know.
      cluster.excuses.add('by hand', machine.thrownAway.subtract(before))
    },
  ],
  'somebody resets the GTIDs of a replica': [
    1,
    (cluster, machine) => {
      if (!machine.mysqld?.isUp || leads(cluster, machine) || !isSpare(cluster, machine)) return
      cluster.unseenResets.add(machine, parseGtidSet(cluster.observation(machine.name)?.server?.executed ?? ''))
      machine.forgetGtids()
    },
  ],
  'somebody writes at the primary with the server_id of a replica': [
    1,
    ({ primary }, { folder, name }) => {
      if (primary?.mysqld?.mayWrite !== true || primary.name === name || folder === undefined) return
      primary.mysqld.commitTogether([{ isOwn: false, answer: () => undefined, serverId: folder.serverId }])
    },
  ],
  'somebody holds a global read lock, or the backup lock': [
    2,
    (cluster, { mysqld }, random) => {
      const release = mysqld?.locks.take(random.pick(['the global read lock', 'the backup lock']))
      later(cluster, random.between(300, 9_000), () => release?.())
    },
  ],
}
