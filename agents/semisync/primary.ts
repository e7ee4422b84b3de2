import { lifeOf, type Life } from '../instance/life.ts'
import { counted } from '../../src/common/text/words.ts'
import type { PrimaryAssignment } from '../../failover/protocol/order.ts'
import { describeError } from '../../src/common/errors/errors.ts'
import { parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import { unappliedOf, unionOf } from '../../topology/snapshot/holdings.ts'
import type { GtidText, ServerState } from '../../topology/snapshot/observation.ts'
import { isCounted, sentenceAbout, strangersAmong } from './acknowledgers.ts'
import { keepApplierOptions } from '../guard/channel-options.ts'
import { staysClosedWithout } from '../doubts/elected-set.ts'
import { keepSettings } from '../guard/managed-settings.ts'
import type { Markers } from './marker.ts'
import { whyClosed, type Guards } from '../instance/known.ts'
import type { Parts, Pass } from '../instance/parts.ts'
import { isPreparedFor } from './preparation.ts'
import { replicationUser, type ServerPort } from '../ports/server.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'

/** Clients come back and the first replica connects in this time: what nobody waits for is not done beside that. */
const tidyAfterMs = 300

/** One pass towards being the primary of this assignment. */
export async function convergePrimary(
  parts: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
  markers: Markers,
): Promise<Pass> {
  const { told } = parts
  const life = lifeOf(parts)
  if (isClosedForCopy(assignment, state) && state.semiSyncSource.waiting > 0) return restartForCopy(parts)
  if (!isOpenAsPrimary(state) && !life.isOpen) return open(parts, assignment, state, markers)
  // Opened by an agent that died before it had tidied up.
  if (!life.isOpen && state.channel) life.untidyUntilMs = 0
  life.isOpen = true
  // That was for a server that did not answer.
  told.mayRestart = false
  const now = await applyAssignment(parts, assignment, state)
  await keepGates(parts, assignment, now)
  await keepAcknowledgements(parts, assignment, now)
  await keepSettings(parts, now, () => doubt(parts, assignment))
  keepMarked(parts, assignment, now, markers)
  await keepOpen(parts, assignment, now)
  return { again: false, afterMs: await tidyUp(parts, now) }
}

/**
 * A new assignment is applied as a whole, and the server looked at again: what differs after that was changed by
 * another hand.
 */
async function applyAssignment(
  { server, course, observer }: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
): Promise<ServerState> {
  if (course.applied === assignment) return state
  await letAccountsChange(server, state)
  await server.setGates([...assignment.counted, ...assignment.catchingUp])
  await server.setSemiSyncSource(assignment.acks)
  course.applied = assignment
  course.converged = { ...course.converged, revision: assignment.revision }
  observer.outdate()
  return observer.recent(0)
}

/**
 * mysqld always starts closed, so one that is open was opened by an agent of this primary, and a restarted agent takes
 * it as it is. A replica that was made writable by hand still has a channel too, but waits for no acknowledgements: it
 * is promoted as any other, since what it received may not be applied yet.
 */
function isOpenAsPrimary(state: ServerState): boolean {
  if (state.readOnly || state.offlineMode) return false
  return state.channel === null || (state.semiSyncSource.enabled && unappliedOf(state).isEmpty())
}

/**
 * Opens the server as primary, in the order that is safe and fast: nothing foreign runs, everything received is
 * applied, leftovers of dump threads are gone (they would delay the first acknowledgement by a second), gates and k
 * exactly as assigned, then open. A server that restarted stays offline until a marker is acknowledged, so that nobody
 * reads what its recovery committed before k members hold it.
 */
async function open(parts: Parts, assignment: PrimaryAssignment, state: ServerState, markers: Markers): Promise<Pass> {
  const { course, doubts, guards, observer, world } = parts
  const life = lifeOf(parts)
  const prepared = isPreparedFor(parts, assignment.epoch)
  const { inPlace } = await beginOpening(parts, assignment, state, prepared)
  const executed = prepared ? (life.prepared?.executed ?? '') : await applyEverything(parts, state)
  if (executed === null) return { again: true }
  const closed = staysClosedWithout(parts, assignment, parseGtidSet(executed))
  if (closed !== null) return closed
  if (course.applied === null) {
    await prepareToOpen(parts, assignment, state)
    course.applied = assignment
    course.converged = { revision: assignment.revision, done: false, sentence: 'gates and acknowledgements are set' }
    // Replicas may connect from now on, while this server opens.
    parts.changed()
  } else await applyAssignment(parts, assignment, state)
  if (inPlace && assignment.acks > 0 && course.markedRevision < assignment.revision) {
    // It waits for replicas: another one would wait for them too.
    course.openingSince = null
    const why = whyNotOpen(guards, assignment, state)
    course.converged = {
      ...course.converged,
      sentence:
        why === null
          ? `offline until ${counted(assignment.acks, 'replica')} ${assignment.acks === 1 ? 'acknowledges' : 'acknowledge'} a marker`
          : `closed: ${why}`,
    }
    keepMarked(parts, assignment, state, markers)
    return { again: false }
  }
  await letIn(parts, assignment, state)
  life.isOpen = true
  life.opening = null
  life.prepared = null
  life.untidyUntilMs = world.clock.monotonicMs() + tidyAfterMs
  course.openingSince = null
  doubts.seenToHold = null
  course.reopening = false
  course.converged = { revision: assignment.revision, done: true, sentence: `primary of epoch ${assignment.epoch}` }
  observer.outdate()
  keepMarked(parts, assignment, state, markers)
  return { again: false, afterMs: tidyAfterMs }
}

/** Once for each mysqld; how long it takes until writes are taken is counted for each epoch. */
async function beginOpening(
  parts: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
  prepared: boolean,
): Promise<NonNullable<Life['opening']>> {
  const { course, world } = parts
  const life = lifeOf(parts)
  if (course.openingSince?.epoch !== assignment.epoch)
    course.openingSince = { epoch: assignment.epoch, atMs: world.clock.monotonicMs() }
  if (life.opening !== null) return life.opening
  course.applied = null
  if (!prepared) await clearTheWay(parts, state, () => doubt(parts, assignment))
  return (life.opening = { inPlace: course.reopening })
}

/**
 * What an opening leaves for later: its events, and the channel that it followed by. In this order: an agent that dies
 * before the end leaves the channel, by which the next one knows that both are still to be done. Milliseconds until it
 * is to be looked at again; undefined where nothing is left.
 */
async function tidyUp(parts: Parts, state: ServerState): Promise<number | undefined> {
  const { server, world } = parts
  const life = lifeOf(parts)
  const restMs = (life.untidyUntilMs ?? 0) - world.clock.monotonicMs()
  if (life.untidyUntilMs !== null && restMs > 0) return restMs
  if (life.untidyUntilMs !== null) await server.setEvents(true)
  life.untidyUntilMs = null
  if (state.channel) await forgetApplied(parts)
  return undefined
}

/**
 * Nobody else is on the server: a lock or an idle transaction of theirs would hold up the applier and account changes.
 * A session that is killed while it waits for an acknowledgement tells those that commit with it that they are safe, so
 * what may have waited is in doubt before that, on disk.
 */
async function clearTheWay({ server }: Parts, state: ServerState, doubts: () => Promise<void>): Promise<void> {
  const { enabled, waiting } = state.semiSyncSource
  if (enabled && (waiting > 0 || !state.readOnly)) await doubts()
  if (!state.offlineMode) await server.setOffline(true)
  await server.killForeignSessions()
}

/**
 * Something may have been acknowledged that nobody holds: only a new marker proves otherwise, and none that is under
 * way.
 */
async function doubt(parts: Parts, assignment: PrimaryAssignment): Promise<void> {
  parts.course.markedRevision = Math.min(parts.course.markedRevision, assignment.revision - 1)
  await keepUnsettled(parts)
}

async function prepareToOpen(parts: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const { server, jobs } = parts
  await jobs.switchingOff
  if (state.channel && !isPreparedFor(parts, assignment.epoch)) await server.stopApplier()
  const connected = new Set(
    assignment.connected?.filter((instance) => assignment.counted.includes(instance)).map(replicationUser),
  )
  await server.waitSessionsGone(await server.killDumpThreads(({ user }) => connected.has(user)))
  await server.setReadOnly('accounts')
  await server.setGates([...assignment.counted, ...assignment.catchingUp])
  await server.setSemiSyncSource(assignment.acks)
}

/** The rest of the relay log is applied before anybody writes. What is executed then; null while that goes on. */
async function applyEverything(parts: Parts, state: ServerState): Promise<GtidText | null> {
  const { server, course, observer } = parts
  if (state.channel === null) return state.executed
  await server.stopReceiver()
  await keepApplierOptions(parts, state.channel)
  if (!state.channel.sqlRunning) await server.startApplier()
  // Read again now that nothing more arrives: what `state` lacks would be thrown away with the channel, acknowledged or
  // not.
  const { executed, received } = await server.readHolds()
  // What was observed may be older than that: who holds everything of this primary is judged by at least this.
  const everything = unionOf([executed, received]).toString()
  course.binlogSet = everything
  observer.outdate()
  if (!unappliedOf({ received, executed }).isEmpty()) await letApplierWaitForNobody(parts, state)
  const applied = await server.waitExecuted(received, 200)
  if (!applied)
    course.converged = {
      ...course.converged,
      done: false,
      sentence: `applying ${state.channel.backlogTransactions} received transactions before opening`,
    }
  return applied ? everything : null
}

/**
 * An applier waits for acknowledgements like a client, and before the opening nobody gives one. So does the applier of
 * a server that was primary a moment ago, where the agent was elected again, or died, before it had switched the
 * source's side off.
 */
async function letApplierWaitForNobody({ server, jobs }: Parts, { semiSyncSource }: ServerState): Promise<void> {
  await jobs.switchingOff
  if (semiSyncSource.enabled) await server.setSemiSyncSource(0)
}

/**
 * With the channel goes what was received and not applied, acknowledged or not: never before the applier is through.
 */
async function forgetApplied({ server, notices }: Parts): Promise<void> {
  await server.stopReceiver()
  const unapplied = unappliedOf(await server.readHolds()).count()
  if (unapplied === 0) return server.forgetSource()
  notices.add(
    'ChannelKept',
    `its replication channel has ${unapplied} received transactions that are not applied; it is kept until they are`,
  )
  await server.startApplier()
}

async function letIn({ server, guards }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  if (whyNotOpen(guards, assignment, state) !== null) return
  await server.open()
}

async function keepGates({ server, notices }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const wanted = [...assignment.counted, ...assignment.catchingUp].toSorted()
  if (wanted.join() === state.openGates.toSorted().join()) return
  notices.add(
    'GatesSet',
    `replication accounts are unlocked for ${wanted.join(', ') || 'nobody'} again (by another hand they were for ${state.openGates.join(', ') || 'nobody'})`,
  )
  await letAccountsChange(server, state)
  await server.setGates(wanted)
}

/**
 * A primary that is closed, or was demoted and goes on, is super read-only: no account can be changed then, not even
 * without the binary log.
 */
async function letAccountsChange(server: ServerPort, state: ServerState): Promise<void> {
  if (state.superReadOnly) await server.setReadOnly('accounts')
}

async function keepAcknowledgements(parts: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const { server, notices, jobs } = parts
  const inForce = state.semiSyncSource.enabled ? state.semiSyncSource.acks : 0
  const loose = assignment.acks > 0 && !state.semiSyncSource.intact
  if (inForce !== assignment.acks || loose) {
    await doubt(parts, assignment)
    await server.setSemiSyncSource(assignment.acks)
    const was = loose ? 'its time-out, wait point or wait_no_replica was changed' : `it was ${inForce}`
    notices.add(
      'AcknowledgementsSet',
      `writes wait for ${counted(assignment.acks, 'acknowledgement')} again (by another hand ${was})`,
    )
  }
  const strangers = strangersAmong(state.dumpThreads, assignment)
  if (strangers.length > 0) {
    await doubt(parts, assignment)
    notices.add('StrangerAcknowledges', sentenceAbout(strangers, assignment))
    const killed = new Set(strangers.map((thread) => thread.threadId))
    const ids = await server.killDumpThreads((thread) => !killed.has(thread.threadId))
    // One that takes its time to go holds up neither this pass nor the orders behind it.
    jobs.cuttingOff ??= server
      .waitSessionsGone(ids)
      .catch((error: unknown) => notices.add('StrangerStays', describeError(error)))
      .finally(() => (jobs.cuttingOff = null))
  }
}

/** Markers prove steps of the sync set, settle a tail, and wake a waiting session after a counted replica came back. */
function keepMarked(
  { course, file, guards }: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
  markers: Markers,
): void {
  if (assignment.acks === 0) {
    course.markedRevision = assignment.revision
    return
  }
  // Closed, it takes no marker either; and one that waits would hold up the closing.
  if (whyNotOpen(guards, assignment, state) !== null) return
  const counted = state.dumpThreads.filter((thread) => thread.semiSync)
  const stuck = state.semiSyncSource.waiting > 0 && counted.length >= assignment.acks
  if (course.markedRevision < assignment.revision || file.current.unsettled) markers.write(assignment.revision)
  if (stuck)
    markers.wakeWaiting(
      assignment.revision,
      counted
        .map(({ threadId }) => threadId)
        .toSorted((a, b) => a - b)
        .join(),
    )
}

/** What keeps this primary closed; null when it is to be open. */
function whyNotOpen(guards: Guards, assignment: PrimaryAssignment, state: ServerState): string | null {
  if (assignment.fenced) return 'fenced by a person'
  return isClosedForCopy(assignment, state)
    ? 'it is being copied, and too few replicas can acknowledge'
    : whyClosed(guards)
}

/**
 * What waits, a marker of the agent's own perhaps, would hold up the copy for ever. It stays in the binlog: recovery
 * commits it, and it is copied.
 */
async function restartForCopy(parts: Parts): Promise<Pass> {
  const { told, notices, process } = parts
  notices.add(
    'RestartedForCopy',
    'something waited for an acknowledgement that no replica could give, and this server is the only one that can be copied: it is killed and started again, closed',
  )
  told.mayRestart = true
  lifeOf(parts).isRestarted = true
  await process.kill()
  return { again: true }
}

/** Ends by itself when enough replicas are back, whether a manager says so or not. */
function isClosedForCopy(assignment: PrimaryAssignment, state: ServerState): boolean {
  return (
    assignment.donates === true &&
    state.dumpThreads.filter((thread) => thread.semiSync && isCounted(thread, assignment)).length < assignment.acks
  )
}

async function keepOpen(parts: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const { server, course, guards, notices } = parts
  const why = whyNotOpen(guards, assignment, state)
  if (why !== null) {
    if (!state.superReadOnly || !state.offlineMode) await close(parts, assignment, state)
    course.converged = { revision: assignment.revision, done: false, sentence: `closed: ${why}` }
    return
  }
  if (state.readOnly || state.superReadOnly || state.offlineMode) {
    await server.open()
    parts.observer.outdate()
    if (course.converged.done)
      notices.add('Opened', 'the primary was read-only or offline by another hand and is open again')
  }
  course.converged = { revision: assignment.revision, done: true, sentence: `primary of epoch ${assignment.epoch}` }
}

/**
 * Never drains: read-only would hang while sessions wait for an acknowledgement, and ending those sessions would commit
 * what nobody holds. Fenced, or without its lease, the server is killed instead; a guard for space just waits, since
 * nothing is written then.
 */
async function close(
  { server, process, guards, observer }: Parts,
  assignment: PrimaryAssignment,
  state: ServerState,
): Promise<void> {
  if (state.semiSyncSource.waiting > 0)
    return assignment.fenced || guards.closed.lease !== null ? process.kill() : undefined
  try {
    await server.setReadOnly('closed', 500)
    await server.setOffline(true)
    await server.killForeignSessions()
  } finally {
    // A lease that is back opens at once, by what is so now.
    observer.outdate()
  }
}
