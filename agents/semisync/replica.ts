import { leadNoMore, lifeOf } from '../instance/life.ts'
import { describeError } from '../../src/common/errors/errors.ts'
import type { Endpoint, ReplicaAssignment } from '../../failover/protocol/order.ts'
import { GtidSet, parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import type { Channel, ServerState } from '../../topology/snapshot/observation.ts'
import { unionOf } from '../../topology/snapshot/holdings.ts'
import { nobodysAddress } from '../../topology/snapshot/replication-tree.ts'
import { instancesOf } from '../instance/accounts.ts'
import { hasDueOptions, keepApplierOptions, keepStoppedOptions, putOptionsRight } from '../guard/channel-options.ts'
import { keepSettings } from '../guard/managed-settings.ts'
import type { Parts, Pass } from '../instance/parts.ts'
import { replicationUser } from '../ports/server.ts'
import { noticeThrownAway } from '../doubts/thrown-away.ts'

/** A connection attempt gets this long before it is begun anew. */
const connectMs = 150

/** For so long after it was let in, and so often, a replica that does not count yet is looked at. */
const catchUpMs = 1_000
const catchUpLookMs = 40

/** So long nobody looks again at what was made ready. */
const pointedMs = 1_000

/**
 * The thread that receives acknowledgements looks up once a second while none come. To switch the source's side off
 * while it does not look holds every login up until it does; once it has seen that there is no replica, it waits for
 * the next word and takes no time (seen on 9.7).
 */
const acknowledgementsSeenMs = 1_100

/** One pass towards following as assigned. `again` asks for another pass soon. */
export async function convergeReplica(parts: Parts, assigned: ReplicaAssignment, state: ServerState): Promise<Pass> {
  const { course, told, doubts } = parts
  const assignment = asSeenNow(parts, assigned)
  const life = lifeOf(parts)
  leadNoMore(life)
  life.prepared = null
  course.reopening = false
  await stayClosed(parts, assignment, state)
  await noticeThrownAway(parts, unionOf([state.executed, state.received]))
  await keepSettings(parts, state, () => Promise.resolve())
  const errant = errantAgainst(told.sourceHolds, state, assignment.sourceUuid)
  if (!errant.isEmpty())
    return standBy(
      parts,
      assignment,
      `has ${errant.count()} errant transactions and waits to be archived and seeded again`,
      state,
    )
  if (doubts.gtidsReset || parts.file.current.gtidsReset)
    return standBy(parts, assignment, 'has had its GTIDs reset by another hand and waits to be seeded again', state)
  if (state.channel?.filtered) await removeFilter(parts)
  const fresh = await withoutDoubtfulRelayLogs(parts, state)
  if (isPointed(parts, assignment) && fresh.channel?.ioRunning !== 'yes')
    return assignment.sourceReady === false ? { again: false } : connect(parts, assignment)
  if (
    !followsAsAssigned(fresh.channel, assignment, course.converged.revision) ||
    hasDueOptions(parts, fresh.channel, 'receiver')
  )
    return follow(parts, assignment, fresh)
  return watchChannel(parts, assignment, fresh)
}

/**
 * A volume that went back in time still has the assignment it had then, and would acknowledge to a primary it has since
 * promised to leave. So where an agent cannot tell that its volume stayed where it was, it counts only once a manager,
 * who looks at incarnations, has told this run of it.
 */
function asSeenNow({ told }: Parts, assignment: ReplicaAssignment): ReplicaAssignment {
  return { ...assignment, counted: assignment.counted && told.trustsAssignment }
}

/** Closed for writes, whoever opened it. */
async function stayClosed(
  { server, notices, course }: Parts,
  assignment: ReplicaAssignment,
  state: ServerState,
): Promise<void> {
  if (state.superReadOnly && state.readOnly) return
  await server.setReadOnly('closed')
  const converged = course.converged.done && course.converged.revision === assignment.revision
  if (converged) notices.add('ClosedAgain', 'read-only was switched off by another hand and is on again')
}

/**
 * A replica's applier would wait for acknowledgements that nobody gives, so the source's side is switched off before it
 * starts. That takes up to a second after there were replicas: it goes on in the background, so that no promise waits
 * behind it. True while it does.
 */
function stopsAcknowledging({ server, jobs, notices, world, changed }: Parts, state: ServerState): boolean {
  if (!state.semiSyncSource.enabled) return false
  jobs.switchingOff ??= server
    .killDumpThreads(() => false)
    .then((ids) => server.waitSessionsGone(ids))
    .then(() => world.timers.sleep(acknowledgementsSeenMs))
    .then(() => server.setSemiSyncSource(0))
    .catch((error: unknown) =>
      notices.add('AcknowledgementsSet', `switching acknowledgements off failed: ${describeError(error)}`),
    )
    .finally(() => {
      jobs.switchingOff = null
      changed()
    })
  return true
}

/**
 * Everybody may clone from, or fetch from, a replica: its gates guard nothing, since its semi-sync source is off, and a
 * promotion sets them anew. Done while it is still offline, so for those that are not there yet too: one that is added
 * later is copied from here.
 */
async function openGates({ server, config }: Parts, state: ServerState): Promise<void> {
  const others = instancesOf(config.cluster).filter((instance) => instance !== config.instance)
  if (!state.offlineMode || others.every((instance) => state.openGates.includes(instance))) return
  await server.setReadOnly('accounts')
  await server.setGates(others)
  await server.setReadOnly('closed')
}

/** What it has that its source never had. The source's own newer transactions are none. */
function errantAgainst(sourceHolds: string | null, state: ServerState, sourceUuid: string): GtidSet {
  if (sourceHolds === null || sourceHolds === '' || sourceUuid === '') return GtidSet.empty
  const own = parseGtidSet(state.executed).union(parseGtidSet(state.received))
  return own.subtract(parseGtidSet(sourceHolds)).withoutSource(sourceUuid)
}

async function standBy(
  { server, course }: Parts,
  assignment: ReplicaAssignment,
  why: string,
  state: ServerState,
): Promise<Pass> {
  if (state.channel?.ioRunning !== undefined && state.channel.ioRunning !== 'no') await server.stopReceiver()
  if (!state.offlineMode) await server.setOffline(true)
  course.converged = { revision: assignment.revision, done: false, sentence: why }
  return { again: false }
}

async function removeFilter({ server, file, notices }: Parts): Promise<void> {
  await file.update({ filterSeen: true })
  await server.clearFilters()
  notices.add(
    'ReplicationFilter',
    'a replication filter was set by hand and removed; what it left out is unknown, so this instance will be seeded again',
  )
}

/** Its page cache was lost: what it received may have holes. It starts again from what it executed. */
async function withoutDoubtfulRelayLogs(parts: Parts, state: ServerState): Promise<ServerState> {
  const { server, doubts, notices, file, observer } = parts
  const life = lifeOf(parts)
  if (!file.current.forgetful || life.relayLogsDiscarded) return state
  if (state.channel) await server.forgetSource()
  doubts.seenToHold = null
  life.relayLogsDiscarded = true
  notices.add('ForgetfulReplica', 'received and unapplied transactions were thrown away and are fetched again')
  return observer.refresh()
}

/**
 * A receiver that is still connecting shows nothing of how it will acknowledge: it is trusted only if it was started
 * for this very revision. Else one that was started to be counted, and kept out by its gate, would acknowledge as soon
 * as it is let in to catch up.
 */
function followsAsAssigned(
  channel: Channel | null,
  { source, counted, revision }: ReplicaAssignment,
  appliedRevision: number,
): channel is Channel {
  if (
    channel === null ||
    channel.sourceHost !== source.host ||
    channel.sourcePort !== source.port ||
    channel.ioRunning === 'no'
  )
    return false
  return channel.ioRunning === 'yes' ? channel.semiSync === counted : appliedRevision === revision
}

/** Points to the source and starts both threads; semi-sync takes effect at the receiver's start. */
async function follow(parts: Parts, assignment: ReplicaAssignment, state: ServerState): Promise<Pass> {
  const { server, course, world, observer, file, notices } = parts
  const { source, counted } = assignment
  const life = lifeOf(parts)
  life.pointed = null
  const strayed =
    state.channel !== null &&
    ![source.host, nobodysAddress.host].includes(state.channel.sourceHost) &&
    course.pointedTo === source.host
  if (strayed)
    notices.add('WrongSource', `it followed ${state.channel.sourceHost} and follows ${source.instance} again`)
  if (file.current.stoppedInOrder) await file.update({ stoppedInOrder: false })
  if (state.channel && state.channel.ioRunning !== 'no') await server.stopReceiver()
  await server.setSemiSyncReplica(counted)
  await keepPointed(parts, source, state.channel)
  course.pointedTo = source.host
  const ready = assignment.sourceReady !== false
  if (ready) await startReceiver(parts)
  if (!stopsAcknowledging(parts, state)) {
    await openGates(parts, state)
    await server.startApplier()
    if (!ready) life.pointed = { as: pointedAs(assignment), atMs: world.clock.monotonicMs() }
  }
  observer.outdate()
  course.converged = {
    revision: assignment.revision,
    done: false,
    sentence: ready
      ? `connecting to ${source.instance}`
      : `connects to ${source.instance} at its manager's word: once that has set its gates, or this one has its copy`,
  }
  return { again: ready }
}

/** Everything is prepared, and its source is ready now. */
async function connect(parts: Parts, assignment: ReplicaAssignment): Promise<Pass> {
  const { course, observer } = parts
  lifeOf(parts).pointed = null
  await startReceiver(parts)
  observer.outdate()
  course.converged = {
    revision: assignment.revision,
    done: false,
    sentence: `connecting to ${assignment.source.instance}`,
  }
  return { again: true }
}

function pointedAs({ epoch, revision, source, counted }: ReplicaAssignment): string {
  return `${epoch}@${revision} ${source.host}:${source.port} ${counted ? 'counted' : ''}`
}

/**
 * It was made ready for this a moment ago, and only its receiver is to be started: nothing is looked at, or done again,
 * before that.
 */
export function isPointed(parts: Parts, assignment: ReplicaAssignment): boolean {
  const { pointed } = lifeOf(parts)
  return (
    pointed !== null &&
    pointed.as === pointedAs(assignment) &&
    parts.world.clock.monotonicMs() - pointed.atMs < pointedMs
  )
}

async function pointTo(
  { server, config, replicationPassword }: Parts,
  source: Endpoint,
  channel: Channel | null,
): Promise<void> {
  const user = replicationUser(config.instance)
  const isAsEncrypted = config.tls === undefined || channel?.encrypted === true
  if (
    isAsEncrypted &&
    channel?.sourceHost === source.host &&
    channel.sourcePort === source.port &&
    channel.sourceUser === user
  )
    return
  await server.pointTo({ host: source.host, port: source.port, user, password: replicationPassword })
}

/** Options that are changed with the receiver stopped are in the statement that names the source. */
async function keepPointed(parts: Parts, source: Endpoint, channel: Channel | null): Promise<void> {
  if (!hasDueOptions(parts, channel, 'receiver')) return pointTo(parts, source, channel)
  await putOptionsRight(parts, channel, 'receiver', () => pointTo(parts, source, null).then(() => true))
}

async function startReceiver({ server, course, world }: Parts): Promise<void> {
  course.receiverStartedAtMs = world.clock.monotonicMs()
  await server.startReceiver()
}

async function watchChannel(parts: Parts, assignment: ReplicaAssignment, state: ServerState): Promise<Pass> {
  const { server, course } = parts
  const channel = state.channel
  course.pointedTo = assignment.source.host
  const switching = stopsAcknowledging(parts, state)
  if (!switching && (await keepOptions(parts, channel))) return { again: true }
  if (channel?.ioRunning !== 'yes') {
    // A locked account or a closed port is tried again only after a second by the server itself.
    if (channel?.ioError) await restartReceiver(parts, assignment, isRefused(channel))
    course.converged = {
      revision: assignment.revision,
      done: false,
      sentence: `connecting to ${assignment.source.instance}${channel?.ioError ? `: ${channel.ioError.slice(0, 200)}` : ''}`,
    }
    return { again: true }
  }
  if (switching) return { again: true }
  if (!channel.sqlRunning) {
    if (channel.sqlError === '') {
      await openGates(parts, state)
      await server.startApplier()
    }
    course.converged = {
      revision: assignment.revision,
      done: false,
      sentence: `cannot apply: ${channel.sqlError.slice(0, 300) || 'its applier was stopped'}`,
    }
    return { again: channel.sqlError === '' }
  }
  await rememberAgain(parts, state)
  if (state.offlineMode !== assignment.fenced) await server.setOffline(assignment.fenced)
  course.converged = { revision: assignment.revision, done: true, sentence: `follows ${assignment.source.instance}` }
  return { again: false, afterMs: isCatchingUp(parts, assignment) ? catchUpLookMs : undefined }
}

/**
 * Writes may wait until it has caught up and is counted: what it has got is looked at more often than usual for a
 * moment.
 */
function isCatchingUp({ course, world }: Parts, { counted }: ReplicaAssignment): boolean {
  return !counted && world.clock.monotonicMs() - course.receiverStartedAtMs < catchUpMs
}

/** True when something of the channel was changed: it is looked at again. */
async function keepOptions(parts: Parts, channel: Channel | null): Promise<boolean> {
  if (await keepApplierOptions(parts, channel)) return true
  if (!(await keepStoppedOptions(parts, channel))) return false
  await startReceiver(parts)
  return true
}

/** With the password that it has, the source does not know it: somebody changed one of both. Nothing shows which. */
function isRefused({ ioError }: Channel): boolean {
  return ioError.includes('Access denied')
}

async function restartReceiver(parts: Parts, { source }: ReplicaAssignment, withPassword: boolean): Promise<void> {
  if (parts.world.clock.monotonicMs() - parts.course.receiverStartedAtMs < connectMs) return
  await parts.server.stopReceiver()
  if (withPassword) await pointTo(parts, source, null)
  await startReceiver(parts)
}

/** Forgetful no more: it follows and holds all that the primary held when this start of the agent was last told. */
async function rememberAgain({ file, told, doubts, notices }: Parts, state: ServerState): Promise<void> {
  if (!file.current.forgetful || told.catchUpTo === null) return
  const own = parseGtidSet(state.executed).union(parseGtidSet(state.received))
  if (!own.contains(parseGtidSet(told.catchUpTo).union(parseGtidSet(doubts.thrownAway)))) return
  doubts.thrownAway = ''
  await file.update({ forgetful: false })
  notices.add('Remembers', 'it has caught up with everything its primary holds and counts again')
}
