import type { PrimaryAssignment } from '../../failover/protocol/order.ts'
import { ableToAcknowledge, killMysqld, waitingOf, type Instance } from './instance.ts'
import { store } from './model-agent.ts'
import type { ModelWorld } from './model-world.ts'

/**
 * One pass towards being primary (`agents/semisync/primary.ts`): gates and k exactly as assigned, then open; a marker
 * for the revision.
 */
export function convergePrimary(world: ModelWorld, instance: Instance, assignment: PrimaryAssignment): void {
  const { memory, server, pid } = instance
  if (isClosedForCopy(world, instance, assignment) && (waitingOf(instance) > 0 || instance.marker !== null)) {
    memory.mayRestart = true
    return killMysqld(instance)
  }
  if (server.open && memory.openedPid !== pid && world.flaws.opensTwice)
    world.tellClients(instance.held & ~instance.committed)
  if (!server.open && memory.openedPid !== pid) return open(world, instance, assignment)
  memory.openedPid = pid
  setGates(world, instance, assignment)
  server.acks = assignment.acks
  memory.converged = { revision: assignment.revision, done: false, sentence: 'gates and acknowledgements are set' }
  keepMarked(world, instance, assignment)
  letIn(world, instance, assignment)
}

/** It is copied, and too few can acknowledge: it is closed and writes no marker. */
function isClosedForCopy(world: ModelWorld, instance: Instance, assignment: PrimaryAssignment): boolean {
  return assignment.donates === true && ableToAcknowledge(instance, world.instances) < assignment.acks
}

function open(world: ModelWorld, instance: Instance, assignment: PrimaryAssignment): void {
  const { memory, server, pid, disk } = instance
  if (memory.openingSince?.epoch !== assignment.epoch)
    memory.openingSince = { epoch: assignment.epoch, atMs: world.nowMs }
  if (server.channel !== null && instance.held !== instance.committed) {
    if (instance.delayed) return
    instance.committed = instance.held
  }
  if (lacksElected(world, instance, assignment)) return
  const inPlace = memory.opening?.pid === pid ? memory.opening.inPlace : disk.mayHaveTail && server.channel === null
  if (memory.opening?.pid !== pid || memory.opening.revision !== assignment.revision) {
    server.channel = null
    instance.delayed = false
    memory.seenToHold = null
    setGates(world, instance, assignment)
    server.acks = assignment.acks
    memory.opening = { pid, revision: assignment.revision, inPlace }
    memory.converged = { revision: assignment.revision, done: false, sentence: 'gates and acknowledgements are set' }
  }
  if (inPlace && assignment.acks > 0 && memory.markedRevision < assignment.revision) {
    setGates(world, instance, assignment)
    memory.openingSince = null
    return keepMarked(world, instance, assignment)
  }
  memory.openedPid = pid
  memory.opening = null
  memory.openingSince = null
  letIn(world, instance, assignment)
  keepMarked(world, instance, assignment)
}

/** `agents/doubts/elected-set.ts`. */
function lacksElected(
  world: ModelWorld,
  { memory, committed }: Instance,
  { elected = '' }: PrimaryAssignment,
): boolean {
  memory.lacksElected = world.ledger.textOf(world.ledger.writesIn(elected) & ~committed)
  if (memory.lacksElected === '' || world.flaws.opensWithLess) return false
  memory.converged = { revision: 0, done: false, sentence: 'stays closed: it lacks what it was elected for' }
  return true
}

/** Acknowledgements that arrived before a gate was closed go on counting. */
function setGates({ flaws, instances }: ModelWorld, { server, name }: Instance, assignment: PrimaryAssignment): void {
  const open = flaws.countsEverybody
    ? instances.map((other) => other.name).filter((other) => other !== name)
    : [...assignment.counted, ...assignment.catchingUp]
  server.gates = new Set(open)
}

function letIn(world: ModelWorld, instance: Instance, assignment: PrimaryAssignment): void {
  const { server, memory } = instance
  server.open = !assignment.fenced && !isClosedForCopy(world, instance, assignment)
  memory.converged = {
    revision: assignment.revision,
    done: server.open,
    sentence: server.open ? `primary of epoch ${assignment.epoch}` : 'closed',
  }
}

function keepMarked(world: ModelWorld, instance: Instance, assignment: PrimaryAssignment): void {
  const { memory, disk } = instance
  if (isClosedForCopy(world, instance, assignment)) return
  if (assignment.acks === 0) memory.markedRevision = assignment.revision
  else if (memory.markedRevision < assignment.revision || disk.unsettled) writeMarker(instance, assignment.revision)
}

function writeMarker(instance: Instance, revision: number): void {
  instance.marker ??= { revision, before: instance.held, by: new Set() }
}

/**
 * The marker's acknowledgement: everything before it is held by k, waiting writes included. It counts only where
 * nothing was reassigned meanwhile.
 */
export function settleMarker(world: ModelWorld, instance: Instance): void {
  const { marker, server, memory, disk } = instance
  if (marker === null || instance.mysqld !== 'running') return
  if (!world.flaws.marksAtOnce && marker.by.size < server.acks) return
  instance.marker = null
  if (!world.flaws.marksAtOnce) world.tellClients(marker.before & ~instance.committed)
  if (!world.flaws.marksAtOnce) instance.committed |= marker.before
  const still =
    disk.assignment?.role === 'primary' &&
    disk.assignment.revision === marker.revision &&
    disk.promise === disk.assignment.epoch
  if (!instance.agentUp || !still) return
  memory.markedRevision = marker.revision
  if (disk.unsettled) store(world, instance, { unsettled: false })
}
