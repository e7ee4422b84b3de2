import { isNotedUnsettled } from '#failover/judge/data/unsettled.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { parseNotes } from '#store/wire.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Clients } from './clients.ts'
import { whatBreaksInGroup } from './group/rules.ts'
import type { Machine } from './machine.ts'
import { cluster as clusterName, type SimulatedCluster } from './simulated-cluster.ts'
import { say } from '#common/sentence/sentence.ts'

interface Scene {
  readonly cluster: SimulatedCluster
  readonly record: ClusterRecord
  readonly primary: Machine
  readonly members: readonly Counted[]
  readonly acknowledged: GtidSet
}

interface Counted {
  readonly member: MemberId
  readonly machine: Machine
}

/**
 * What servers hold is looked at before agents are asked: most often nobody need be asked.
 *
 * The first rule of docs/why/safety.md, "How it is checked", that does not hold now; undefined where all do. A rule
 * that is broken need not lose a write yet: the wrong server has to die for that.
 */
export function whatBreaks(
  cluster: SimulatedCluster,
  { acknowledged }: Pick<Clients, 'acknowledged'>,
): string | undefined {
  const { record, groups } = cluster
  if (groups !== null) return whatBreaksInGroup(cluster, groups, { acknowledged })
  if (record === undefined) return undefined
  const scene = {
    cluster,
    record,
    primary: cluster.machine(instanceOf(record.primary)),
    members: record.syncSet.map((member) => ({ member, machine: cluster.machine(instanceOf(member)) })),
    acknowledged,
  }
  for (const rule of [heldByPrimary, oldPrimaryIsRevoked, heldByEnough, countedAreMembers]) {
    const found = rule(scene)
    if (found !== undefined) return found
  }
  return undefined
}

export function heldBy({ folder }: Machine): GtidSet {
  if (folder === undefined) return GtidSet.empty
  const prepared = folder.prepared.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  return folder.executed.union(folder.received).union(prepared)
}

function heldByPrimary({ cluster, record, primary, acknowledged }: Scene): string | undefined {
  const missing = acknowledged.subtract(heldBy(primary)).subtract(excusedOf(primary, record))
  return missing.isEmpty() || cluster.isElsewhere(record.primary)
    ? undefined
    : `S1: ${primary.name} leads and lacks ${missing.toString()}, acknowledged`
}

/** It was elected with more, a hand threw that away, and it has not opened: the next primary must hold that. */
function excusedOf({ mysqld, thrownAway }: Machine, { elected = '' }: ClusterRecord): GtidSet {
  return mysqld?.mayWrite === true ? GtidSet.empty : thrownAway.intersect(parseGtidSet(elected))
}

/** Another primary leads, and an older one could still tell a client OK. */
function oldPrimaryIsRevoked({ cluster, primary }: Scene): string | undefined {
  const able = cluster.machines.find(
    (machine) => machine !== primary && couldAcknowledge(machine, cluster) && !cluster.isDeposedUnheard(machine),
  )
  return able === undefined ? undefined : `S2: ${able.name} leads no more and can still acknowledge writes`
}

/** A connection whose other end follows somebody else is a leftover: nothing comes back. */
function couldAcknowledge({ host, mysqld }: Machine, { machines }: SimulatedCluster): boolean {
  if (!mysqld || mysqld.state === 'dead' || !(mysqld.mayWrite || mysqld.hasWaitingClients)) return false
  // Its agent closes it again, or lets it wait again; what clients wrote there meanwhile is on whose hand that was.
  if (mysqld.isOpenByHand || mysqld.isLooseByHand) return false
  const { enabled, acks } = mysqld.semiSyncSource
  const counted = mysqld.dumps.filter(({ semiSync, instance }) => {
    const replica = machines.find(({ name }) => name === instance)?.mysqld
    return (
      semiSync &&
      replica &&
      replica.state !== 'dead' &&
      replica.receiver.status === 'yes' &&
      replica.folder.source?.host === host
    )
  })
  return !enabled || counted.length >= acks
}

/** Nobody believes a member that has forgotten something, or will be found to: here that member holds all. */
function isNotBelieved({ cluster, acknowledged }: Scene, { member, machine }: Counted): boolean {
  const hasLost = !heldBy(machine).contains(machine.thrownAway.intersect(acknowledged))
  return hasLost || cluster.mayForget(machine) || cluster.isElsewhere(member)
}

function heldByEnough(scene: Scene): string | undefined {
  const { cluster, record, members, acknowledged } = scene
  if (record.acks === 0 || members.length < record.acks) return undefined
  const holders = members.filter(({ machine }) => heldBy(machine).contains(acknowledged))
  if (holders.length >= record.acks || isUnsettled(cluster, record)) return undefined
  const held = members.map((one) => (isNotBelieved(scene, one) ? acknowledged : heldBy(one.machine)))
  const missing = acknowledged.subtract(heldByAtLeast(record.acks, held))
  return missing.isEmpty()
    ? undefined
    : `S3: ${missing.toString()}, acknowledged, is held by fewer than ${record.acks} of the sync set`
}

function heldByAtLeast(count: number, sets: readonly GtidSet[]): GtidSet {
  const inAtLeast = Array.from({ length: count + 1 }, () => GtidSet.empty)
  for (const held of sets)
    for (let number = count; number >= 1; number -= 1) {
      const more = number === 1 ? held : (inAtLeast[number - 1] ?? GtidSet.empty).intersect(held)
      inAtLeast[number] = (inAtLeast[number] ?? GtidSet.empty).union(more)
    }
  return inAtLeast[count] ?? GtidSet.empty
}

function isUnsettled(cluster: SimulatedCluster, { primary }: ClusterRecord): boolean {
  const { cells } = cluster
  const notes = cells.get(`notes.${clusterName}`)
  if (notes !== undefined && isNotedUnsettled(parseNotes(notes.text, say`the simulated store`), primary)) return true
  return cluster.observation(instanceOf(primary))?.stored.unsettled !== false
}

/** Before its agent has made it the primary of this epoch, a server counts nobody. */
function countedAreMembers({ cluster, record, primary, members }: Scene): string | undefined {
  if (!primary.mysqld?.semiSyncSource.enabled) return undefined
  const stranger = primary.mysqld.dumps.find(
    ({ semiSync, instance }) => semiSync && !members.some(({ machine }) => machine.name === instance),
  )
  if (stranger === undefined) return undefined
  const assignment = cluster.observation(primary.name)?.stored.assignment
  return assignment?.role === 'primary' && assignment.epoch === record.epoch
    ? `S3: ${stranger.instance} acknowledges and is not in the sync set`
    : undefined
}
