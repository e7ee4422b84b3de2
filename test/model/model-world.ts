import { freshState, newIncarnation, type StoredState } from '../../agents/instance/stored-state.ts'
import { decide } from '../../failover/decide.ts'
import type { Decision } from '../../failover/protocol/decision.ts'
import { emptyNotes, type ClusterNotes } from '../../failover/protocol/notes.ts'
import type { Assignment } from '../../failover/protocol/order.ts'
import { countedMembers, type ClusterRecord } from '../../failover/protocol/record.ts'
import type { DecisionInput } from '../../failover/judge/situation.ts'
import type { ClusterSpec } from '../../failover/protocol/spec.ts'
import {
  instanceName,
  instanceOf,
  memberId,
  ordinalOf,
  type InstanceName,
  type MemberId,
} from '../../topology/snapshot/member.ts'
import { hostOf } from '../../topology/testing.ts'
import { noFlaws, type AgentFlaws } from './flaws.ts'
import { freshMemory, killMysqld, memberOf, receive, releaseFirst, serverUuidOf, type Instance } from './instance.ts'
import { Ledger, mostWrites, isWithin, type Writes } from './ledger.ts'
import { AgentDied, obey } from './model-agent.ts'
import { ModelManager, type Letter } from './model-manager.ts'
import { describeLetter, describeRecord } from './model-words.ts'
import { settleMarker } from './model-primary.ts'

/** How a world is made and, for tests of the checker, in what it is broken. */
export interface WorldOptions {
  readonly instances: number
  readonly acks: number | null
  readonly managers: number
  readonly durability: ClusterSpec['durability']
  /** Kinds of events that do not happen in this run, as bits: with fewer kinds the rest goes deeper. */
  readonly without: number
  /** Ordinal of an instance that is never to be promoted. */
  readonly never: number | null
  readonly flaws?: Partial<AgentFlaws>
  /** Stands between the managers and the real `decide`. */
  readonly broken?: (input: DecisionInput, real: (input: DecisionInput) => Decision) => Decision
}

/**
 * A cluster in memory: servers with semi-synchronous replication, agents, managers, a record, and the orders between
 * them. Everything happens when it is told to.
 */
export class ModelWorld {
  readonly ledger = new Ledger()
  readonly flaws: AgentFlaws
  readonly spec: ClusterSpec
  readonly instances: readonly Instance[]
  readonly managers: readonly ModelManager[]
  readonly #broken: WorldOptions['broken']
  readonly #byName: ReadonlyMap<InstanceName, Instance>
  notes: ClusterNotes
  nowMs = 10_000
  record: ClusterRecord
  letters: Letter[] = []
  /** Writes a client saw acknowledged. */
  acknowledged: Writes = 0
  /** Writes that somebody made by hand on a replica: errant until they are archived, and nobody's promise. */
  byHand: Writes = 0
  /** The next agent that writes to its disk dies right after. */
  diesAfterWriting = false
  /** What happened, for people. */
  trace: string[] | null = null
  /** Records as they followed each other. */
  readonly history: ClusterRecord[] = []

  constructor(options: WorldOptions) {
    this.flaws = { ...noFlaws, ...options.flaws }
    this.#broken = options.broken
    this.spec = specFor(options)
    const names = Array.from({ length: options.instances }, (_, ordinal) => instanceName('shop', ordinal))
    const acks = options.acks ?? Math.floor(options.instances / 2)
    const members = names.map((name) => memberId(name, `volume-${ordinalOf(name)}`))
    this.record = {
      version: 1,
      cluster: 'shop',
      epoch: 1,
      revision: 1,
      primary: members[0] ?? 'shop-0@volume-0',
      syncSet: members.slice(1),
      leaving: [],
      acks,
      acksWanted: acks,
      intent: null,
    }
    this.history.push(this.record)
    const base = this.ledger.add(serverUuidOf({ name: 'shop-0', generation: 0 }))
    this.instances = names.map((name) => healthyInstance(name, this.record, base, this.ledger.textOf(base)))
    this.notes = {
      ...emptyNotes,
      incarnations: Object.fromEntries(
        this.instances.map((instance) => [memberOf(instance), [instance.disk.incarnation]]),
      ),
    }
    this.acknowledged = base
    this.#byName = new Map(this.instances.map((instance) => [instance.name, instance]))
    this.managers = Array.from({ length: options.managers }, (_, number) => new ModelManager(this, number))
    for (const manager of this.managers) manager.lookAtAll()
  }

  named(name: InstanceName): Instance | undefined {
    return this.#byName.get(name)
  }

  /** The instance with that volume. */
  memberOf(member: MemberId): Instance | undefined {
    const instance = this.#byName.get(instanceOf(member))
    return instance && memberOf(instance) === member ? instance : undefined
  }

  get primary(): Instance | undefined {
    return this.memberOf(this.record.primary)
  }

  say(what: string): void {
    this.trace?.push(what)
  }

  decide(input: DecisionInput): Decision {
    return this.#broken ? this.#broken(input, decide) : decide(input)
  }

  /** The record is replaced only if nobody was faster. */
  compareAndSwap(expectedRevision: number, next: ClusterRecord): boolean {
    if (this.record.revision !== expectedRevision) return false
    this.record = next
    this.history.push(next)
    this.say(`  record: ${describeRecord(next)}`)
    return true
  }

  /** One order of a kind per manager and instance is under way at a time. */
  send(letter: Letter): void {
    const same = this.letters.findIndex(
      ({ from, to, sent }) =>
        from === letter.from &&
        to === letter.to &&
        sent.kind === letter.sent.kind &&
        sent.order.revision === letter.sent.order.revision,
    )
    if (same === -1) this.letters.push(letter)
    this.say(`  ${describeLetter(letter)}${same === -1 ? '' : ' (under way already)'}`)
  }

  deliver(letter: Letter): void {
    const instance = this.named(letter.to)
    if (!instance?.exists || !instance.agentUp || letter.from.cutFrom.has(letter.to))
      return this.say(`  lost: ${describeLetter(letter)}`)
    this.asAgent(instance, () => {
      try {
        obey(this, instance, letter.sent)
      } catch (error) {
        if (error instanceof AgentDied) throw error
        this.say(`  refused: ${(error as Error).message}`)
        letter.from.refused(letter.sent, (error as Error).message)
      }
    })
  }

  /** What an agent does; it may die in the middle. */
  asAgent(instance: Instance, task: () => void): void {
    try {
      task()
    } catch (error) {
      if (!(error instanceof AgentDied)) throw error
      this.say(`  agent of ${instance.name} dies after writing to its disk`)
      this.killAgent(instance)
    }
    this.diesAfterWriting = false
  }

  killAgent(instance: Instance): void {
    // The agent has looked: of what a hand threw away just before its death nobody could tell (failure-modes.md).
    if (!this.flaws.hidesThrownAway && !isWithin(instance.memory.seenToHold ?? 0, instance.held))
      instance.disk = { ...instance.disk, forgetful: true }
    instance.agentUp = false
    instance.memory = freshMemory()
    instance.seedsFrom = null
    instance.beside = null
    if (this.flaws.forgetsPromise) instance.disk = { ...instance.disk, promise: instance.disk.assignment?.epoch ?? 0 }
  }

  startAgent(instance: Instance): void {
    if (instance.agentUp) return
    instance.agentUp = true
    instance.agentRun += 1
    const followed = instance.disk.assignment?.role !== 'primary'
    instance.disk = { ...instance.disk, ...newIncarnation(instance.disk, `${instance.name}/${instance.agentRun}`) }
    instance.memory.trustsAssignment = instance.mysqld !== 'dead' || (!instance.rebooted && !instance.putBack)
    if (instance.rebooted && followed && !instance.disk.stoppedInOrder)
      instance.disk = { ...instance.disk, forgetful: true }
    instance.rebooted = false
    instance.putBack = false
  }

  /** Power is lost. A follower may forget any end of what it received, unless it had stopped in order. */
  crashMachine(instance: Instance, lost: Writes): void {
    const followed = instance.disk.assignment?.role !== 'primary'
    killMysqld(instance)
    this.killAgent(instance)
    instance.rebooted = true
    if (!followed || instance.disk.stoppedInOrder) return
    instance.held &= ~lost
    instance.committed &= ~lost
  }

  /** Its volume is gone; the instance begins with an empty one. */
  loseVolume(instance: Instance): void {
    killMysqld(instance)
    this.killAgent(instance)
    instance.generation += 1
    instance.held = 0
    instance.committed = 0
    instance.lost = 0
    instance.delayed = false
    instance.rebooted = false
    instance.server = { open: false, acks: 0, gates: new Set(), channel: null }
    instance.disk = freshState(`${instance.disk.volume}'`, '')
    instance.snapshot = null
  }

  /** Somebody stops it and copies its volume. */
  takeSnapshot(instance: Instance): void {
    killMysqld(instance)
    this.killAgent(instance)
    const { disk, held, committed, generation, server } = instance
    instance.snapshot = { disk, held, committed, generation, server: { ...server } }
  }

  /** The copy is put back, and everything on the volume is as it was then. */
  putBack(instance: Instance): void {
    const { snapshot } = instance
    if (snapshot === null) return
    killMysqld(instance)
    this.killAgent(instance)
    const { disk, held, committed, generation, server } = snapshot
    Object.assign(instance, {
      disk,
      held,
      committed,
      generation,
      server: { ...server },
      rebooted: false,
      putBack: true,
      snapshot: null,
    })
    instance.timesBack += 1
    if (this.isBehindNotes(instance)) instance.past = { volume: disk.volume, epoch: this.record.epoch }
  }

  /** The notes may come to know later than the copy was put back, from what was heard before. */
  isBehindNotes(instance: Instance): boolean {
    const newest = this.notes.incarnations[memberOf(instance)]?.[0]
    const { incarnation, earlierIncarnations } = instance.disk
    return newest !== undefined && ![incarnation, ...earlierIncarnations].includes(newest)
  }

  /** Somebody with all privileges writes on a replica, once. */
  writeByHand(instance: Instance): void {
    if (
      this.byHand !== 0 ||
      instance.mysqld !== 'running' ||
      instance === this.primary ||
      this.ledger.size >= mostWrites
    )
      return
    const write = this.ledger.add(serverUuidOf(instance))
    instance.held |= write
    instance.committed |= write
    this.byHand |= write
  }

  /** A client writes where it can. */
  write(instance: Instance): boolean {
    if (instance.mysqld !== 'running' || !instance.server.open || this.ledger.size >= mostWrites) return false
    const write = this.ledger.add(serverUuidOf(instance))
    instance.held |= write
    if (instance.server.acks === 0) this.#release(instance)
    return true
  }

  /** Everything received that can be received by one replica, or one step of it. */
  receiveOne(replica: Instance): boolean {
    const source = this.named(replica.server.channel?.source ?? '')
    return source !== undefined && receive(replica, source)
  }

  /** The source counts its acknowledgements. */
  countAcknowledgements(source: Instance): void {
    this.#release(source)
    this.asAgent(source, () => settleMarker(this, source))
  }

  /** Clients were told OK. */
  tellClients(writes: Writes): void {
    this.acknowledged |= writes
  }

  /** What was received and not applied is gone, although its agent has seen it. Nobody but its agent can tell. */
  throwAway(instance: Instance): void {
    const { memory, held, committed, server } = instance
    if (instance.mysqld !== 'running' || !instance.agentUp || server.channel === null || held === committed) return
    memory.seenToHold = held
    instance.lost |= held & ~committed
    instance.held = committed
  }

  scaleTo(count: number): void {
    for (const instance of this.instances) {
      const stays = ordinalOf(instance.name) < count
      if (instance.exists && !stays) {
        killMysqld(instance)
        this.killAgent(instance)
      }
      if (!instance.exists && stays) this.startAgent(instance)
      instance.exists = stays
    }
  }

  #release(source: Instance): void {
    for (let write = releaseFirst(source); write !== 0; write = releaseFirst(source)) this.tellClients(write)
  }
}

/**
 * An empty instance is copied in half of all runs: the first kind of event happens in every run, so its bit is free to
 * say in which.
 */
function specFor({ instances, acks, durability, never, without }: WorldOptions): ClusterSpec {
  return {
    version: 1,
    mode: 'semisync',
    instances,
    acks,
    durability,
    failover: { automatic: true, windowMs: 0 },
    reseed: 'automatic',
    cloneAboveTransactions: without % 2 === 0 ? 1_000 : 0,
    maxLagSeconds: 30,
    lowSpaceBytes: 0,
    keepBinlogsSeconds: 259_200,
    heldBinlogsBytes: 21_474_836_480,
    archiveBytes: 4_294_967_296,
    switchover: { graceMs: 0, timeoutMs: 10_000 },
    policies: never === null ? {} : { [instanceName('shop', never)]: { promotion: 'never', priority: 0 } },
  }
}

function healthyInstance(name: InstanceName, record: ClusterRecord, base: Writes, baseHolds: string): Instance {
  const isPrimary = name === instanceOf(record.primary)
  const replicas = countedMembers(record).map(instanceOf)
  const volume = `volume-${ordinalOf(name)}`
  const stored: StoredState = {
    version: 1,
    volume,
    incarnation: `${name}/1`,
    earlierIncarnations: [],
    notedIncarnations: [`${name}/1`],
    promise: 1,
    revision: 1,
    assignment: assignmentOf(name, record),
    bootId: '',
    medium: null,
    stoppedInOrder: false,
    unsettled: false,
    forgetful: false,
    seeding: false,
    unproven: false,
    filterSeen: false,
    fromThePast: false,
    gtidsReset: false,
    mayHaveTail: isPrimary,
  }
  return {
    name,
    exists: true,
    agentUp: true,
    agentRun: 1,
    mysqld: 'running',
    ending: false,
    pid: 1,
    generation: 0,
    disk: stored,
    held: base,
    committed: base,
    acked: new Map(),
    marker: null,
    server: {
      open: isPrimary,
      acks: isPrimary ? record.acks : 0,
      gates: new Set(isPrimary ? replicas : []),
      channel: isPrimary ? null : { source: instanceOf(record.primary), semiSync: true, running: true },
    },
    memory: {
      ...freshMemory(),
      sourceHolds: isPrimary ? null : baseHolds,
      catchUpTo: isPrimary ? null : baseHolds,
      converged: { revision: 1, done: true, sentence: 'as assigned' },
      markedRevision: isPrimary ? 1 : 0,
      openedPid: isPrimary ? 1 : null,
      trustsAssignment: true,
    },
    delayed: false,
    lost: 0,
    rebooted: false,
    isolated: false,
    seedsFrom: null,
    beside: null,
    timesBack: 0,
    past: null,
    putBack: false,
    snapshot: null,
  }
}

function assignmentOf(name: InstanceName, record: ClusterRecord): Assignment {
  const base = {
    version: 1,
    cluster: 'shop',
    member: memberId(name, `volume-${ordinalOf(name)}`),
    epoch: 1,
    revision: 1,
    peers: [],
    fenced: false,
  }
  const primary = instanceOf(record.primary)
  if (name === primary)
    return {
      ...base,
      role: 'primary',
      counted: countedMembers(record).map(instanceOf),
      catchingUp: [],
      acks: record.acks,
      mayRestart: false,
    }
  return {
    ...base,
    role: 'replica',
    source: { instance: primary, host: hostOf(primary), port: 3306, agent: `${hostOf(primary)}:9400` },
    counted: true,
    sourceUuid: serverUuidOf({ name: primary, generation: 0 }),
    sourceHolds: '',
    sourcePurged: '',
  }
}
