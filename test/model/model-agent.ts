import { checkOrder, type AnyOrder } from '../../agents/orders/checks.ts'
import { notedNow, promisedIncarnation, type StoredState } from '../../agents/instance/stored-state.ts'
import type {
  Assignment,
  DemoteOrder,
  FetchOrder,
  OrderName,
  PromiseOrder,
  RenounceOrder,
  ReseedOrder,
} from '../../failover/protocol/order.ts'
import { convergePrimary } from './model-primary.ts'
import { convergeReplica } from './model-replica.ts'
import {
  ableToAcknowledge,
  forgetfulAs,
  isHeldBack,
  killMysqld,
  runOf,
  startMysqld,
  waitingOf,
  type Instance,
} from './instance.ts'
import { isWithin } from './ledger.ts'
import { passStartGate } from './model-start-gate.ts'
import type { ModelWorld } from './model-world.ts'

/** The agent died between two of its steps; what it wrote to disk stays. */
export class AgentDied extends Error {}

/** An order did not work out, and the agent said so. */
export class OrderFailed extends Error {}

export type SentOrder =
  | { readonly kind: 'assign'; readonly order: Assignment }
  | { readonly kind: 'promise'; readonly order: PromiseOrder }
  | { readonly kind: 'demote'; readonly order: DemoteOrder }
  | { readonly kind: 'fetch'; readonly order: FetchOrder }
  | { readonly kind: 'reseed'; readonly order: ReseedOrder }
  | { readonly kind: 'renounce'; readonly order: RenounceOrder }

/**
 * Carries out one order as `agents/orders/desk.ts` does: checked by the agent's own `checkOrder`, written to disk,
 * done. Throws what refuses it.
 */
export function obey(world: ModelWorld, instance: Instance, sent: SentOrder): void {
  instance.memory.alone = false
  check(world, instance, sent.kind, sent.order)
  switch (sent.kind) {
    case 'assign':
      return assign(world, instance, sent.order)
    case 'promise':
      return promise(world, instance, sent.order)
    case 'demote':
      return demote(world, instance, sent.order)
    case 'fetch':
      return fetch(world, instance, sent.order)
    case 'reseed':
      return reseed(world, instance, sent.order)
    case 'renounce':
      return renounce(world, instance, sent.order)
  }
}

function check({ flaws, ledger }: ModelWorld, instance: Instance, name: OrderName, order: AnyOrder): void {
  const stored: StoredState = {
    ...instance.disk,
    ...(flaws.ignoresRevision ? { revision: 0 } : {}),
    ...(flaws.ignoresEpoch ? { promise: Math.min(order.epoch, instance.disk.promise) } : {}),
  }
  const process = instance.mysqld
  checkOrder(name, order, {
    cluster: 'shop',
    instance: instance.name,
    run: flaws.obeysForEarlierRuns && 'run' in order ? String(order.run) : runOf(instance),
    stored,
    process,
    promiseReport: instance.memory.report,
    holds: ledger.textOf(instance.held),
  })
}

/** To disk, durably. The agent may die right after it. */
export function store(world: ModelWorld, instance: Instance, change: Partial<StoredState>): void {
  const renewed =
    (change.promise ?? 0) > instance.disk.promise
      ? promisedIncarnation({ ...instance.disk, ...change }, `${instance.disk.incarnation}/${change.promise}`)
      : {}
  instance.disk = { ...instance.disk, ...change, ...renewed }
  if (!world.diesAfterWriting || instance.disk.unsettled) return
  world.diesAfterWriting = false
  throw new AgentDied()
}

function assign(world: ModelWorld, instance: Instance, order: Assignment): void {
  const { memory } = instance
  const now = instance.disk.assignment
  const newEpoch = now?.epoch !== order.epoch
  if (newEpoch && now?.role === 'primary' && order.role === 'replica') leavePrimaryRole(world, instance)
  memory.report = null
  memory.receiverKept = false
  if (newEpoch || order.role === 'replica') memory.lacksElected = ''
  remember(world, instance, order, newEpoch)
  const revision = Math.max(order.revision, world.flaws.ignoresRevision ? instance.disk.revision : 0)
  store(world, instance, {
    promise: world.flaws.ignoresEpoch ? order.epoch : Math.max(instance.disk.promise, order.epoch),
    revision,
    assignment: order,
    ...notedBy(instance, order),
    ...(order.role === 'primary' ? { mayHaveTail: true, fromThePast: false } : {}),
  })
  memory.trustsAssignment = true
  if (newEpoch || now?.role !== order.role) memory.converged = { revision: 0, done: false, sentence: 'newly assigned' }
  converge(world, instance)
}

/** Its start began with `name/run` (`ModelWorld.startAgent`). */
function notedBy({ name, agentRun, disk }: Instance, { run }: Assignment): Partial<StoredState> {
  return run === undefined || disk.notedIncarnations.includes(disk.incarnation)
    ? {}
    : notedNow(disk, `${name}/${agentRun}`)
}

function remember(world: ModelWorld, instance: Instance, order: Assignment, newEpoch: boolean): void {
  const { memory } = instance
  if (order.role === 'primary') {
    memory.mayRestart = order.mayRestart
    return
  }
  if (newEpoch) {
    memory.catchUpTo = null
    memory.thrownAway = 0
  }
  if (order.sourceHolds === '' && !newEpoch) return
  memory.sourceHolds = order.sourceHolds === '' ? null : order.sourceHolds
  if (order.catchUpFor === forgetfulAs(instance) || world.flaws.catchesUpWithAnything)
    memory.catchUpTo = memory.sourceHolds
}

function leavePrimaryRole(world: ModelWorld, instance: Instance): void {
  const { memory, disk } = instance
  memory.openedPid = null
  memory.opening = null
  if (instance.mysqld === 'dead') return
  const demoted = memory.report?.epoch === disk.promise && memory.report.asPrimary && instance.mysqld === 'running'
  if (!demoted) return killMysqld(instance)
  instance.server.gates = new Set()
  store(world, instance, { mayHaveTail: false })
}

function promise(world: ModelWorld, instance: Instance, order: PromiseOrder): void {
  const { memory } = instance
  if (instance.disk.promise !== order.epoch || (memory.receiverKept && !world.flaws.keepsReceiver)) memory.report = null
  memory.receiverKept =
    followsAlready(instance, order.keepReceiverFrom) || (memory.receiverKept && world.flaws.keepsReceiver)
  store(world, instance, { promise: order.epoch, revision: Math.max(instance.disk.revision, order.revision) })
  stopUnderPromise(world, instance)
}

function followsAlready(
  { disk: { assignment }, memory: { converged } }: Instance,
  candidate: string | undefined,
): boolean {
  return (
    assignment?.role === 'replica' &&
    assignment.source.instance === candidate &&
    converged.done &&
    converged.revision === assignment.revision
  )
}

/** Makes true what a promise newer than the assignment says (`agents/semisync/promise.ts`). */
export function stopUnderPromise(world: ModelWorld, instance: Instance): void {
  const { memory, disk } = instance
  if (memory.report?.epoch === disk.promise) return
  if (disk.assignment?.role === 'primary') {
    if (!world.flaws.promisesWhileOpen) killMysqld(instance)
    memory.report = reportOf(world, instance, true)
    return
  }
  if (instance.mysqld === 'dead' && disk.mayHaveTail && !disk.seeding) memory.report = reportOf(world, instance, true)
  if (instance.mysqld !== 'running') return
  noticeThrownAway(world, instance)
  if (!world.flaws.reportsBeforeStop && !memory.receiverKept) stopReceiving(instance)
  memory.converged = { ...memory.converged, done: false, sentence: 'stopped under a promise' }
  if (!memory.receiverKept || world.flaws.callsKeptOrderly) store(world, instance, { stoppedInOrder: true })
  memory.report = reportOf(world, instance, false)
}

/** A former primary's binlog has nothing of what it had received and not applied. */
function reportOf({ ledger }: ModelWorld, instance: Instance, asPrimary: boolean): Instance['memory']['report'] {
  const { held, committed, disk } = instance
  const holds = ledger.textOf(asPrimary && isHeldBack(instance) ? committed : held)
  return { epoch: disk.promise, holds, executed: ledger.textOf(committed), asPrimary }
}

/** `agents/doubts/thrown-away.ts`. */
export function noticeThrownAway(world: ModelWorld, instance: Instance): void {
  const { memory, held } = instance
  const missing = (memory.seenToHold ?? 0) & ~held
  memory.seenToHold = held
  if (missing === 0 || world.flaws.hidesThrownAway) return
  memory.timesForgotten += 1
  memory.catchUpTo = null
  memory.thrownAway |= missing
  store(world, instance, { forgetful: true })
}

function stopReceiving({ server }: Instance): void {
  if (server.channel) server.channel = { ...server.channel, running: false, semiSync: false }
}

/** Refused unless k can acknowledge and nothing waits any more: the real one waits for that, up to its deadline. */
function demote(world: ModelWorld, instance: Instance, order: DemoteOrder): void {
  const { acks } = instance.server
  if (ableToAcknowledge(instance, world.instances) < acks) throw new OrderFailed('too few can acknowledge')
  if (waitingOf(instance) > 0) throw new OrderFailed('sessions still wait for an acknowledgement')
  instance.server.open = world.flaws.promisesWhileOpen
  store(world, instance, { promise: order.epoch, revision: order.revision })
  instance.memory.report = reportOf(world, instance, true)
}

/** Everything the other one has, or a part of it; then it stops and reports again. */
function fetch(world: ModelWorld, instance: Instance, order: FetchOrder): void {
  store(world, instance, { revision: Math.max(instance.disk.revision, order.revision), stoppedInOrder: false })
  instance.memory.report = null
  instance.memory.receiverKept = false
  const from = world.named(order.from.instance)
  if (from?.mysqld === 'running' && !from.isolated && !instance.isolated) {
    instance.held |= from.held
    instance.lost &= ~from.held
    if (!isHeldBack(instance)) instance.committed = instance.held
  }
  stopUnderPromise(world, instance)
}

/** Gives up what it has. The copy comes later (`finishSeeding`). */
function reseed(world: ModelWorld, instance: Instance, order: ReseedOrder): void {
  if (instance.seedsFrom !== null) return
  store(world, instance, { seeding: order.beside !== true, revision: Math.max(instance.disk.revision, order.revision) })
  stopReceiving(instance)
  instance.memory.report = null
  instance.memory.sourceHolds = order.sourceHolds
  instance.seedsFrom = order.donor.instance
  instance.beside = order.beside === true ? order : null
}

/** `agents/orders/renouncing.ts`. */
function renounce(world: ModelWorld, instance: Instance, order: RenounceOrder): void {
  const { memory, disk } = instance
  if (disk.assignment?.role === 'primary') killMysqld(instance)
  else stopReceiving(instance)
  memory.report = null
  memory.sourceHolds = null
  memory.catchUpTo = null
  memory.openedPid = null
  memory.opening = null
  memory.converged = { revision: 0, done: false, sentence: 'its volume went back in time' }
  const cleared = { mayHaveTail: false, unsettled: false, forgetful: false, stoppedInOrder: false }
  store(world, instance, {
    ...cleared,
    volume: `${disk.volume}+`,
    assignment: null,
    revision: order.revision,
    fromThePast: true,
  })
  converge(world, instance)
}

/**
 * CLONE copies what is committed at the donor, and does not end while a write or a marker waits there; the copy is a
 * server with a new uuid.
 */
export function finishSeeding(world: ModelWorld, instance: Instance): void {
  const donor = instance.seedsFrom === null ? undefined : world.named(instance.seedsFrom)
  if (instance.beside !== null) return finishBeside(world, instance, instance.beside)
  if (!donor || !instance.agentUp || donor.mysqld !== 'running' || waitingOf(donor) > 0 || donor.marker !== null) return
  killMysqld(instance)
  instance.held = donor.committed
  instance.committed = donor.committed
  instance.lost = 0
  instance.memory.seenToHold = null
  instance.memory.thrownAway = 0
  instance.generation += 1
  instance.server.channel = null
  instance.seedsFrom = null
  instance.memory.binlogSet = null
  startMysqld(instance)
  store(world, instance, {
    seeding: false,
    filterSeen: false,
    fromThePast: false,
    forgetful: false,
    mayHaveTail: false,
    unsettled: false,
  })
}

/** `agents/doubts/unproven-copy.ts`; whoever dies in the middle has what was there before. */
function finishBeside(
  world: ModelWorld,
  instance: Instance,
  { epoch, donor: { instance: name }, sourceHolds }: ReseedOrder,
): void {
  const donor = world.named(name)
  if (donor?.mysqld === 'running' && waitingOf(donor) > 0) return
  instance.seedsFrom = null
  instance.beside = null
  const isProven = donor !== undefined && isWithin(world.ledger.writesIn(sourceHolds), donor.committed)
  if (donor?.mysqld !== 'running' || instance.mysqld !== 'running' || instance.disk.promise !== epoch || !isProven)
    return
  killMysqld(instance)
  instance.held = donor.committed
  instance.committed = donor.committed
  instance.lost = 0
  instance.memory.seenToHold = null
  instance.memory.thrownAway = 0
  instance.generation += 1
  instance.server.channel = null
  startMysqld(instance)
  store(world, instance, { filterSeen: false })
}

/** One that is copied beside what it has goes on as soon as something newer is asked of it. */
function isCopying({ seedsFrom, beside, disk }: Instance): boolean {
  return seedsFrom !== null && (beside === null || beside.epoch === disk.promise)
}

/** One pass (`agents/converge/converger.ts`). */
export function converge(world: ModelWorld, instance: Instance): void {
  if (!instance.agentUp || isCopying(instance)) return
  const ahead = () => instance.disk.promise > (instance.disk.assignment?.epoch ?? 0)
  if (ahead()) stopUnderPromise(world, instance)
  if (ahead() && world.flaws.reportsBeforeStop) stopReceiving(instance)
  if (ahead() && world.flaws.promisesWhileOpen && instance.disk.assignment?.role === 'primary') killMysqld(instance)
  passStartGate(world, instance)
  if (instance.mysqld !== 'running' || ahead()) return
  const { assignment } = instance.disk
  if (assignment?.role === 'primary') convergePrimary(world, instance, assignment)
  if (assignment?.role === 'replica') convergeReplica(world, instance, assignment)
}
