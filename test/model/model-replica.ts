import type { ReplicaAssignment } from '../../failover/protocol/order.ts'
import { GtidSet, parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import { isConnected, type Instance } from './instance.ts'
import { isWithin } from './ledger.ts'
import { noticeThrownAway, store } from './model-agent.ts'
import type { ModelWorld } from './model-world.ts'

/** One pass towards following (`agents/semisync/replica.ts`). */
export function convergeReplica(world: ModelWorld, instance: Instance, assignment: ReplicaAssignment): void {
  const { server, memory } = instance
  memory.openedPid = null
  memory.opening = null
  server.open = false
  server.acks = 0
  // Peers may fetch from a replica, and a switchover's candidate gathers them.
  server.gates = new Set(world.instances.map(({ name }) => name).filter((name) => name !== instance.name))
  noticeThrownAway(world, instance)
  const errant = errantOf(world, instance, assignment)
  if (!errant.isEmpty()) {
    if (server.channel) server.channel = { ...server.channel, running: false }
    memory.converged = {
      revision: assignment.revision,
      done: false,
      sentence: `has ${errant.count()} errant transactions`,
    }
    return
  }
  const semiSync =
    (assignment.counted && (memory.trustsAssignment || world.flaws.acknowledgesUntold)) || world.flaws.countsEverybody
  const asAssigned =
    server.channel?.running === true &&
    server.channel.source === assignment.source.instance &&
    server.channel.semiSync === semiSync
  if (!asAssigned) {
    if (instance.disk.stoppedInOrder) store(world, instance, { stoppedInOrder: false })
    server.channel = { source: assignment.source.instance, semiSync, running: assignment.sourceReady !== false }
  }
  memory.converged = {
    revision: assignment.revision,
    done: server.channel?.running === true,
    sentence: `follows ${assignment.source.instance}`,
  }
  rememberAgain(world, instance)
}

function errantOf({ ledger }: ModelWorld, { memory, held }: Instance, { sourceUuid }: ReplicaAssignment): GtidSet {
  if (memory.sourceHolds === null || memory.sourceHolds === '' || sourceUuid === '') return GtidSet.empty
  return parseGtidSet(ledger.textOf(held)).subtract(parseGtidSet(memory.sourceHolds)).withoutSource(sourceUuid)
}

function rememberAgain(world: ModelWorld, instance: Instance): void {
  const { memory, disk, server, held } = instance
  if (!disk.forgetful || memory.catchUpTo === null) return
  const source = world.named(server.channel?.source ?? '')
  if (!source || !isConnected(instance, source)) return
  if (!isWithin(world.ledger.writesIn(memory.catchUpTo) | memory.thrownAway, held)) return
  memory.thrownAway = 0
  store(world, instance, { forgetful: false })
}
