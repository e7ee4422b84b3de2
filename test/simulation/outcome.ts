import type { ClusterRecord } from '#failover/protocol/record.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Clients } from './clients.ts'
import { whatIsMissingInGroup } from './group/outcome.ts'
import type { Machine } from './machine.ts'
import { isBeyondPeople, notesOf } from './operations/after-healing.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'
import { writtenForOthers } from './watch/held.ts'

/** What a rule of the store or of a simulated server says; undefined where each is kept. */
export function violationIn({ cells, machines, excuses }: SimulatedCluster): string | undefined {
  // Where a person gave writes up, the old primary still has them committed: its agent finds that out once it runs.
  const broken = excuses.isLossAccepted ? undefined : machines.find((machine) => machine.broken !== undefined)?.broken
  return cells.violation ?? broken
}

/** Writes that clients heard OK for, and this server has not. */
export function lacksAcknowledged(
  { name, folder }: Machine,
  { acknowledged }: Pick<Clients, 'acknowledged'>,
): string | undefined {
  const lost = folder === undefined ? acknowledged : acknowledged.subtract(folder.executed.subtract(folder.hollow))
  return lost.isEmpty() ? undefined : `lost: ${name} lacks ${lost.toString()}, which was acknowledged`
}

/** What keeps the cluster from being whole; undefined for nothing. */
export function whatIsMissing(cluster: SimulatedCluster): string | undefined {
  const { record, groups } = cluster
  if (record === undefined) return 'there is no record'
  const missing = whyNoWrites(cluster, record) ?? whyNotAtRest(cluster, record)
  return missing ?? (groups === null ? undefined : whatIsMissingInGroup(cluster, groups))
}

function whyNoWrites(cluster: SimulatedCluster, record: ClusterRecord): string | undefined {
  const primary = primaryOf(cluster, record)
  if (!primary?.mysqld?.mayWrite) return `${record.primary} takes no writes`
  if (primary.mysqld.waiting > 0) return 'writes wait'
  const { route } = cluster
  return route?.instance === primary.name ? undefined : `clients are sent to ${route?.instance}`
}

function whyNotAtRest(cluster: SimulatedCluster, record: ClusterRecord): string | undefined {
  const { machines, spec } = cluster
  const { syncSet, intent, leaving, acks, acksWanted } = record
  if (syncSet.length < machines.length - 1)
    return `${syncSet.length} of ${machines.length - 1} replicas are in the sync set`
  if (intent !== null || leaving.length > 0 || acks !== acksWanted) return 'the record is not at rest'
  const wanted = notesOf(cluster)?.instances ?? spec.instances
  return machines.length === wanted ? undefined : `there are ${machines.length} instances, and ${wanted} are wanted`
}

export function primaryOf({ machines }: SimulatedCluster, { primary }: ClusterRecord): Machine | undefined {
  return machines.find(({ name }) => name === instanceOf(primary))
}

/** Why the cluster is not whole, and what its managers say of that. */
export function whyStuck(cluster: SimulatedCluster): string | undefined {
  const missing = whatIsMissing(cluster)
  if (missing === undefined || isBeyondPeople(cluster)) return undefined
  const sentences = cluster.managers.map((manager) => manager?.loop.decision?.sentence ?? 'nothing')
  return `stuck: ${missing}; managers say: ${sentences.join(' | ')}`
}

/** What is lost once all replicas have applied what they can. */
export function lostInTheEnd(cluster: SimulatedCluster, clients: Clients): string | undefined {
  if (isBeyondPeople(cluster)) return undefined
  const judged = cluster.machines.filter((machine) => !cluster.unseenResets.has(machine))
  const lacking = judged.map((machine) => lacksAcknowledged(machine, clients))
  return (
    lacking.find((one) => one !== undefined) ?? passedOverForGood(cluster, judged) ?? lostSilently(cluster, clients)
  )
}

/** What a hand wrote with the `server_id` of a replica that replica has got all the same, by a copy. */
function passedOverForGood({ record, machines }: SimulatedCluster, judged: readonly Machine[]): string | undefined {
  const primary = machines.find(({ name }) => record !== undefined && name === instanceOf(record.primary))
  const all = primary ? writtenForOthers(primary) : GtidSet.empty
  const holed = judged.find(({ folder }) => folder !== undefined && !folder.executed.contains(all))
  return holed && `passed over: ${holed.name} lacks a part of ${all.toString()} for good`
}

/** What a stop that nobody ordered acknowledged is there, or a person finds where that is. */
function lostSilently({ platform: { everybody } }: SimulatedCluster, { unproven }: Clients): string | undefined {
  // With a volume that is gone, so are its binlogs.
  if (everybody.some(({ goneMember }) => goneMember !== undefined)) return undefined
  const archived = unionOf(everybody.flatMap((machine) => machine.archived))
  const held = everybody.reduce((all, { folder }) => all.union(folder?.executed ?? GtidSet.empty), archived)
  const lost = unproven.subtract(held)
  return lost.isEmpty()
    ? undefined
    : `lost: ${lost.toString()}, acknowledged by the hand of a stranger, is in no archive`
}
