import type { PrimaryAssignment } from '../failover/order.ts'
import type { ServerState } from '../topology/observation.ts'
import type { Markers } from './marker.ts'
import type { Parts } from './parts.ts'
import { replicationUser } from './server-port.ts'

/** One pass towards being the primary of this assignment. `again` asks for another pass soon. */
export async function convergePrimary(parts: Parts, assignment: PrimaryAssignment, state: ServerState, markers: Markers): Promise<{ again: boolean }> {
  const { memory, process } = parts
  if (!isOpen(state) && memory.openedPid !== process.pid) return open(parts, assignment, state, markers)
  memory.openedPid = process.pid
  await keepGates(parts, assignment, state)
  await keepAcknowledgements(parts, assignment, state)
  keepMarked(parts, assignment, state, markers)
  await keepOpen(parts, assignment, state)
  return { again: false }
}

/** mysqld always starts closed, so one that is open was opened by an agent of this primary: a restarted agent takes it as it is. */
function isOpen(state: ServerState): boolean {
  return !state.readOnly && !state.offlineMode
}

/**
 * Opens the server as primary, in the order that is safe and fast: nothing foreign runs, everything received is applied, leftovers of dump threads are gone (they would delay the first
 * acknowledgement by a second), gates and k exactly as assigned, then open. A server that restarted stays offline until a marker is acknowledged, so that nobody reads what its recovery committed
 * before k members hold it.
 */
async function open(parts: Parts, assignment: PrimaryAssignment, state: ServerState, markers: Markers): Promise<{ again: boolean }> {
  const { server, memory, process } = parts
  if (!(await applyEverything(parts, state))) return { again: true }
  const pid = process.pid ?? 0
  const inPlace = memory.opening?.pid === pid ? memory.opening.inPlace : memory.reopening && state.channel === null
  if (memory.opening?.pid !== pid) {
    await prepareToOpen(parts, assignment, state)
    memory.opening = { pid, inPlace }
    memory.converged = { revision: assignment.revision, done: false, sentence: 'gates and acknowledgements are set' }
    // Replicas may connect from now on, while this server opens.
    parts.changed()
  } else {
    await keepGates(parts, assignment, state)
    await keepAcknowledgements(parts, assignment, state)
  }
  if (inPlace && assignment.acks > 0 && memory.markedRevision < assignment.revision) {
    memory.converged = { ...memory.converged, sentence: `offline until ${assignment.acks} replicas acknowledge a marker` }
    keepMarked(parts, assignment, state, markers)
    return { again: false }
  }
  await letIn(parts, assignment)
  memory.openedPid = pid
  memory.opening = null
  memory.reopening = false
  memory.converged = { revision: assignment.revision, done: true, sentence: `primary of epoch ${assignment.epoch}` }
  if (assignment.acks > 0) markers.write(assignment.revision)
  else memory.markedRevision = assignment.revision
  // Writes flow from here on; what follows is not worth making them wait.
  parts.changed()
  await server.setEvents(true)
  return { again: true }
}

async function prepareToOpen({ server }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  if (!state.offlineMode) await server.setOffline(true)
  await server.killForeignSessions()
  if (state.channel) await server.forgetSource()
  await server.killDumpThreads(() => false)
  await server.setReadOnly('accounts')
  await server.setGates([...assignment.counted, ...assignment.catchingUp])
  await server.setSemiSyncSource(assignment.acks)
}

/** The rest of the relay log is applied before anybody writes: false while that goes on. */
async function applyEverything({ server, memory }: Parts, state: ServerState): Promise<boolean> {
  if (state.channel === null) return true
  if (state.channel.ioRunning !== 'no') await server.stopReceiver()
  if (!state.channel.sqlRunning) await server.startApplier()
  const applied = await server.waitExecuted(state.received, 200)
  if (!applied) memory.converged = { ...memory.converged, done: false, sentence: `applying ${state.channel.backlogTransactions} received transactions before opening` }
  return applied
}

async function letIn({ server, memory }: Parts, assignment: PrimaryAssignment): Promise<void> {
  if (assignment.fenced || memory.closedBecause !== null) return
  await server.setReadOnly('open')
  await server.setOffline(false)
}

function isCounted(assignment: PrimaryAssignment, user: string): boolean {
  return assignment.counted.some((instance) => replicationUser(instance) === user)
}

async function keepGates({ server, memory, notices }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const wanted = [...assignment.counted, ...assignment.catchingUp].toSorted()
  if (memory.converged.revision === assignment.revision && wanted.join() === state.openGates.toSorted().join()) return
  const shut = assignment.counted.filter((instance) => !state.openGates.includes(instance))
  if (memory.converged.done && shut.length > 0) notices.add('GatesSet', `the accounts of ${shut.join(', ')} were locked by another hand and are open again`)
  await server.setGates(wanted)
}

async function keepAcknowledgements({ server, notices, memory, file }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const inForce = state.semiSyncSource.enabled ? state.semiSyncSource.acks : 0
  if (inForce !== assignment.acks) {
    await server.setSemiSyncSource(assignment.acks)
    if (memory.converged.revision === assignment.revision) notices.add('AcknowledgementsSet', `writes wait for ${assignment.acks} acknowledgements again (it was ${inForce})`)
  }
  const strangers = state.dumpThreads.filter((thread) => thread.semiSync && !isCounted(assignment, thread.user))
  if (strangers.length > 0 && memory.converged.revision === assignment.revision) {
    await file.update({ unsettled: true })
    const killed = new Set(strangers.map((thread) => thread.threadId))
    await server.killDumpThreads((thread) => !killed.has(thread.threadId))
    memory.markedRevision = Math.min(memory.markedRevision, assignment.revision - 1)
    notices.add('StrangerAcknowledges', `${strangers.map((thread) => `${thread.user}@${thread.host}`).join(', ')} acknowledged without being counted; its connection was ended`)
  }
  memory.converged = { ...memory.converged, revision: assignment.revision }
}

/** Markers prove steps of the sync set, settle a tail, and wake a waiting session after a counted replica came back. */
function keepMarked({ memory, file }: Parts, assignment: PrimaryAssignment, state: ServerState, markers: Markers): void {
  if (assignment.acks === 0) {
    memory.markedRevision = assignment.revision
    return
  }
  const counted = state.dumpThreads.filter((thread) => thread.semiSync).length
  const stuck = state.semiSyncSource.waiting > 0 && counted >= assignment.acks
  if (memory.markedRevision < assignment.revision || file.current.unsettled) markers.write(assignment.revision)
  if (stuck) markers.wakeWaiting(assignment.revision)
}

async function keepOpen(parts: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  const { server, memory, notices } = parts
  const why = assignment.fenced ? 'fenced by a person' : memory.closedBecause
  if (why !== null) {
    if (!state.superReadOnly || !state.offlineMode) await close(parts, assignment, state)
    memory.converged = { revision: assignment.revision, done: false, sentence: `closed: ${why}` }
    return
  }
  if (state.readOnly || state.superReadOnly || state.offlineMode) {
    await server.setReadOnly('open')
    await server.setOffline(false)
    if (memory.converged.done) notices.add('Opened', 'the primary was read-only or offline by another hand and is open again')
  }
  memory.converged = { revision: assignment.revision, done: true, sentence: `primary of epoch ${assignment.epoch}` }
}

/**
 * Never drains: read-only would hang while sessions wait for an acknowledgement, and ending those sessions would commit what nobody holds. Fenced, the server is killed instead; a guard for space
 * just waits, since nothing is written then.
 */
async function close({ server, process }: Parts, assignment: PrimaryAssignment, state: ServerState): Promise<void> {
  if (state.semiSyncSource.waiting > 0) return assignment.fenced ? process.kill() : undefined
  await server.setReadOnly('closed', 500)
  await server.setOffline(true)
  await server.killForeignSessions()
}
