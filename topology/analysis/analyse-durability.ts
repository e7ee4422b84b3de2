import { command, counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis } from './analysis.ts'
import { critical, warning, type AnalysisInput } from './analysis-input.ts'
import { lackedOf } from '../snapshot/comparison.ts'
import { isHeard, isServing, isWritable, type ServingView } from './instance-state.ts'
import type { DumpThread, Observation, ServerState } from '../snapshot/observation.ts'
import { readsFromPrimary, servingReplicas, type PrimaryCondition } from './primary-condition.ts'
import type { InstanceView } from '../snapshot/snapshot.ts'

/** Whether what clients were told is safe, and whether writes can be acknowledged at all. */
export function analyseDurability(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const atPrimary = condition.kind === 'serving' ? analyseAcknowledging(condition.view, input) : []
  return [
    ...atPrimary,
    ...analyseReceivers(input),
    ...analyseSyncSet(condition, input),
    ...input.snapshot.instances.flatMap(analyseMemory),
  ]
}

function analyseAcknowledging(view: ServingView, input: AnalysisInput): readonly Analysis[] {
  return [
    ...analyseSemiSync(view, input),
    ...analyseWaiting(view),
    ...analyseStrangers(view, input),
    ...analyseUnacknowledged(view, input),
  ]
}

/**
 * The record asks for no more than what was in force before it said so: less is another hand's doing, from the first
 * moment on.
 */
function analyseSemiSync(view: ServingView, { expected: { acks }, limits }: AnalysisInput): readonly Analysis[] {
  const why = whyNotInForce(view.observation.server.semiSyncSource, acks)
  if (acks === 0 || why === null || !isWritable(view, limits)) return []
  const sentence = say`primary ${view.name} takes writes and must wait for ${counted(acks, 'acknowledgement')} of each: ${why}`
  return [critical('PrimarySemiSyncMustBeSet', view.name, sentence)]
}

function whyNotInForce(semiSync: ServerState['semiSyncSource'], acks: number): Sentence | null {
  if (!semiSync.enabled) return say`semi-sync is off`
  if (semiSync.acks < acks) return say`it waits for ${semiSync.acks}`
  return semiSync.intact ? null : say`its time-out, wait point or wait_no_replica was changed, and it may go on without`
}

/** A replica that has just joined the sync set acknowledges once it was told so and has connected anew. */
function analyseReceivers(input: AnalysisInput): readonly Analysis[] {
  const { syncSet, acks, primary, epoch } = input.expected
  if (acks === 0 || primary === null) return []
  const members = servingReplicas(input).filter(({ name }) => syncSet.includes(name))
  const mute = members.filter(({ observation: { stored, server } }) => {
    const told = stored.assignment
    const knows = told?.counted === true && told.epoch === epoch && told.source === primary
    return knows && server.channel?.ioRunning === 'yes' && !server.channel.semiSync
  })
  return mute.map(({ name }) => {
    const sentence = say`replica ${name} is in the sync set and receives from primary ${primary}, but acknowledges nothing`
    return warning('ReplicaSemiSyncMustBeSet', name, say`${sentence}: semi-sync of its receiver is not in force`)
  })
}

function analyseWaiting({ name, observation }: ServingView): readonly Analysis[] {
  const { semiSyncSource, dumpThreads } = observation.server
  const acknowledging = dumpThreads.filter(({ semiSync }) => semiSync).length
  if (!semiSyncSource.enabled || semiSyncSource.waiting === 0 || acknowledging >= semiSyncSource.acks) return []
  // A group commit counts as one waiting session.
  const { acks, waiting } = semiSyncSource
  const wait = say`at least ${counted(waiting, 'session')} of primary ${name} wait${waiting === 1 ? 's' : ''}`
  const few = acknowledging === 0 ? 'no' : say`only ${acknowledging}`
  const replicas = acknowledging > 1 ? say`replicas are` : say`replica is`
  const sentence = say`${wait} for ${counted(acks, 'acknowledgement')}, and ${few} acknowledging ${replicas} connected`
  return [critical('LockedSemiSyncPrimary', name, sentence)]
}

/** Acknowledgements of servers outside of the sync set count for MySQL; to a failover they are worth nothing. */
function analyseStrangers({ name, observation }: ServingView, input: AnalysisInput): readonly Analysis[] {
  if (!observation.server.semiSyncSource.enabled) return []
  const members = input.snapshot.instances.filter((view) => input.expected.syncSet.includes(view.name))
  const strangers = observation.server.dumpThreads.filter(
    (thread) => thread.semiSync && !members.some((member) => serves(thread, member)),
  )
  return strangers.map(({ user, host, serverUuid }) =>
    critical(
      'StrangerAcknowledges',
      name,
      say`primary ${name} counts acknowledgements of ${user}@${host} (${serverUuid || say`no server_uuid announced`}), which is not in the sync set`,
    ),
  )
}

/** By the `server_uuid` announced; by its address where the member's own is not known yet. */
function serves(thread: DumpThread, member: InstanceView): boolean {
  const server = member.observation?.server
  return server ? server.uuid === thread.serverUuid : member.host === thread.host
}

/** Reported until enough members hold everything: then what was told too early has become true. */
function analyseUnacknowledged({ name, observation }: ServingView, input: AnalysisInput): readonly Analysis[] {
  const { unacknowledged } = observation.server.semiSyncSource
  const { acks, syncSet } = input.expected
  if (unacknowledged === 0 || acks === 0) return []
  // For people. The primary may have been looked at first: what it wrote since waits for acknowledgements as ever.
  const holders = servingReplicas(input).filter(
    (view) => syncSet.includes(view.name) && lackedOf(view.observation, observation).isEmpty(),
  )
  if (holders.length >= acks) return []
  const needed = counted(acks, 'acknowledgement')
  const confirmed = say`primary ${name} confirmed ${counted(unacknowledged, 'commit')} to clients without the ${needed}`
  const hold = say`${counted(syncSet.length, 'sync replica')} ${holders.length === 1 ? say`holds` : say`hold`}`
  const sentence = say`${confirmed} a commit needs; ${holders.length} of ${hold} all of its binlog`
  return [critical('UnacknowledgedCommits', name, sentence)]
}

/**
 * Alive by their own agents' word. Where that is missing and yet everything flows, it is the agents that are missing.
 */
function analyseSyncSet(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const { primary, syncSet, acks } = input.expected
  if (primary === null) return []
  if (acks === 0) return [warning('NotProtected', primary, unprotectedSentence(input))]
  const alive = servingReplicas(input).filter(({ name }) => syncSet.includes(name))
  if (alive.length >= acks) return []
  const members =
    syncSet.length === 0
      ? say`the sync set is empty`
      : say`${alive.length} of ${counted(syncSet.length, 'sync replica')} (${syncSet.join(', ')}) ${alive.length === 1 ? say`is` : say`are`} known to be alive`
  return [
    (isAcknowledged(condition, input) ? warning : critical)(
      'NotEnoughSyncReplicas',
      primary,
      say`a write at primary ${primary} needs ${counted(acks, 'acknowledgement')}: ${members}`,
    ),
  ]
}

/** Enough members are alive or, as far as the primary sees, connected; and nobody waits. */
function isAcknowledged(condition: PrimaryCondition, { snapshot, expected, limits }: AnalysisInput): boolean {
  if (condition.kind !== 'serving' || condition.view.observation.server.semiSyncSource.waiting > 0) return false
  const members = snapshot.instances.filter(({ name }) => expected.syncSet.includes(name))
  return (
    members.filter((view) => (isHeard(view) ? isServing(view, limits) : readsFromPrimary(view, condition))).length >=
    expected.acks
  )
}

function unprotectedSentence({ snapshot, expected }: AnalysisInput): Sentence {
  return snapshot.instances.length === 1
    ? say`${expected.primary} is the only instance: what it loses is lost`
    : say`writes at primary ${expected.primary} wait for no acknowledgement: a failover may lose them`
}

/** What members know of themselves is on their disks: it stays true while they are unreachable. */
function analyseMemory(view: InstanceView): readonly Analysis[] {
  const { name, observation } = view
  return observation === null
    ? []
    : [...analyseTail(observation, name), ...analyseForgetful(observation, name), ...analysePast(view)]
}

function analyseTail({ stored }: Observation, name: string): readonly Analysis[] {
  if (!stored.unsettled) return []
  const cause =
    stored.unsettledBy === 'switchover'
      ? say`${name} ended sessions that stood in the way of a switchover`
      : say`${name} stopped without an order, or was changed by another hand,`
  const sentence = say`${cause} and may have acknowledged writes that no replica holds; its binlog belongs to any failover until that is settled`
  return [warning('UnsettledTail', name, sentence)]
}

export function analysePast({ name, observation, past }: InstanceView): readonly Analysis[] {
  if (past !== undefined) {
    const old = say`the volume of ${name} went back in time (a snapshot put back?)`
    const keeping = command('failover', '--accept-loss', '--to', name)
    return [
      critical(
        'VolumeFromThePast',
        name,
        say`${old}: it is seeded again once another leads. To keep its data, where nobody leads: ${keeping}`,
      ),
    ]
  }
  if (observation?.stored.binlogOff === true)
    return [
      critical(
        'BinlogOff',
        name,
        say`${name} ran without a binary log: what it committed has no GTID and is on no replica, and it counts for nothing until it has been seeded again`,
      ),
    ]
  if (observation?.stored.gtidsReset === true) {
    const what =
      observation.stored.gtidsGiven === true
        ? say`${name} was given GTIDs that it never executed by another hand (SET gtid_next, SET GLOBAL gtid_purged)`
        : say`the GTIDs of ${name} were reset by another hand (RESET BINARY LOGS AND GTIDS)`
    return [
      critical(
        'GtidsReset',
        name,
        say`${what}: nobody can tell what it holds, and it counts for nothing until seeded again`,
      ),
    ]
  }
  if (observation?.stored.fromThePast !== true) return []
  return [
    warning(
      'VolumeFromThePast',
      name,
      say`the volume of ${name} went back in time; it is a new member and counts for nothing until it has been seeded again`,
    ),
  ]
}

function analyseForgetful({ stored }: Observation, name: string): readonly Analysis[] {
  if (!stored.forgetful || stored.gtidsReset) return []
  return [
    warning(
      'ForgetfulReplica',
      name,
      say`the machine of ${name} crashed, or its volume was cut off: it may have forgotten what it acknowledged and counts for nothing until it has caught up`,
    ),
  ]
}
