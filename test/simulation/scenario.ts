import type { ClusterRecord } from '#failover/protocol/record.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import type { Request } from '#failover/judge/situation.ts'
import { codeOf } from '#common/errors/errors.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { HeldLetters } from './held-letters.ts'
import type { Machine } from './machine.ts'
import type { CommitAnswer } from './mysqld/semi-sync-source.ts'
import { whatBreaks } from './rules.ts'
import { lacksAcknowledged, whatIsMissing } from './outcome.ts'
import { GroupWatch } from './group/watch.ts'
import { SimulatedCluster, type ClusterOptions } from './simulated-cluster.ts'
import type { SimulatedManager } from './simulated-manager.ts'
import { simulatedTransport } from './transport.ts'
import { Watch } from './watch/watch.ts'

/** How often the rules are looked at, besides at each change of what is stored. */
const lookMs = 5
const wholeWithinMs = 90_000

/** One write of a client, and what the client has heard so far. */
export interface Write {
  readonly gtid: GtidSet
  answer: CommitAnswer | 'waits'
}

/**
 * A cluster to which a script happens, step by step, where a random schedule would seldom come across these steps in
 * this order. Every step throws the first rule that does not hold, of `rules.ts` or of those who watch each step.
 */
export class Scenario {
  readonly cluster: SimulatedCluster
  /** What clients heard OK for. */
  acknowledged = GtidSet.empty
  /** Acknowledged by a server that a stranger stopped. */
  unproven = GtidSet.empty
  #broken: string | undefined
  readonly #watch: Watch | GroupWatch

  private constructor(options: Omit<ClusterOptions, 'seed'>) {
    const cluster = new SimulatedCluster({ seed: 1, ...options })
    this.cluster = cluster
    this.#watch = cluster.groups === null ? new Watch(cluster, this) : new GroupWatch(cluster, cluster.groups, this)
    this.cluster.cells.changed = () => this.#look()
    this.#lookAgain()
  }

  /** A cluster that begins. */
  static start(options: Omit<ClusterOptions, 'seed'>): Scenario {
    const scenario = new Scenario(options)
    scenario.cluster.start()
    return scenario
  }

  /** A cluster that takes writes, with everybody in the sync set, and one manager: the other one is down. */
  static async begin(options: Omit<ClusterOptions, 'seed'>): Promise<Scenario> {
    const scenario = Scenario.start(options)
    const { cluster } = scenario
    await scenario.until('the cluster is whole', () => whatIsMissing(cluster) === undefined)
    cluster.killManager(cluster.managers.findIndex((manager) => manager?.loop.leads !== true))
    await scenario.goOn(1_000)
    await scenario.until('the cluster is whole', () => whatIsMissing(cluster) === undefined)
    return scenario
  }

  get record(): ClusterRecord {
    const { record } = this.cluster
    if (record === undefined) throw new Error('there is no record')
    return record
  }

  /** The instance that the record says is primary. */
  get primary(): Machine {
    return this.cluster.machine(instanceOf(this.record.primary))
  }

  /** The instances of the sync set. */
  get syncSet(): readonly string[] {
    return this.record.syncSet.map(instanceOf)
  }

  /** The one that leads, else any. */
  get manager(): SimulatedManager {
    const alive = this.cluster.managers.filter((one) => one?.life.isDead === false)
    const manager = alive.find((one) => one?.loop.leads) ?? alive[0]
    if (!manager) throw new Error('there is no manager')
    return manager
  }

  get sentence(): string {
    return this.manager.loop.decision?.sentence ?? ''
  }

  machine(ordinal: number): Machine {
    return this.cluster.machine(`shop-${ordinal}`)
  }

  /** Tells the trace what comes, for people. */
  say(what: string): void {
    this.cluster.say(`── ${what}`)
  }

  #look(): void {
    const { cells, hooks, machines } = this.cluster
    this.#watch.look()
    this.#broken ??=
      this.#watch.broken ??
      hooks.violation ??
      cells.violation ??
      machines.find(({ broken }) => broken !== undefined)?.broken ??
      whatBreaks(this.cluster, this)
  }

  #lookAgain(): void {
    this.#look()
    this.cluster.time.after(lookMs, () => this.#lookAgain())
  }

  /** Lets so much time go by. */
  async goOn(ms: number): Promise<void> {
    const { time } = this.cluster
    await time.runUntil(time.nowMs + ms, () => this.#broken !== undefined)
    if (this.#broken !== undefined) throw new Error(this.#broken)
  }

  /** Lets time go by until this holds; throws where that takes too long. */
  async until(what: string, holds: () => boolean, withinMs = wholeWithinMs): Promise<void> {
    const { time } = this.cluster
    await time.runUntil(time.nowMs + withinMs, () => this.#broken !== undefined || holds())
    if (this.#broken !== undefined) throw new Error(this.#broken)
    if (!holds()) throw new Error(`not within ${withinMs} ms: ${what}; the manager says: ${this.sentence}`)
  }

  /**
   * A client writes at a server, whether that one leads or not.
   * @param named by the client, with `SET gtid_next`
   */
  write(at: Machine = this.primary, named?: GtidSet): Write {
    const { mysqld } = at
    if (!mysqld?.mayWrite) throw new Error(`${at.name} takes no writes`)
    const write: { gtid: GtidSet; answer: Write['answer'] } = { gtid: GtidSet.empty, answer: 'waits' }
    const answered = (answer: CommitAnswer, { gtid }: { readonly gtid: GtidSet }): void => {
      write.answer = answer
      // A group names what is written once the group has agreed.
      write.gtid = gtid
      if (answer === 'ok') this.acknowledged = this.acknowledged.union(gtid)
      if (answer === 'unproven') this.unproven = this.unproven.union(gtid)
    }
    const written = mysqld.commitNew(false, answered, named)
    write.gtid = written?.gtid ?? GtidSet.empty
    this.say(`a client writes ${write.gtid.toString()} at ${at.name}`)
    return write
  }

  /** Clients write at a server as often as this, while the server takes writes. */
  writeOften(at: Machine, everyMs: number, name?: () => GtidSet): readonly Write[] {
    const writes: Write[] = []
    const go = (): void => {
      if (at.mysqld?.mayWrite !== true) return
      writes.push(this.write(at, name?.()))
      this.cluster.time.after(everyMs, go)
    }
    go()
    return writes
  }

  /** A client writes, and hears OK. */
  async writeAcknowledged(at: Machine = this.primary): Promise<Write> {
    const write = this.write(at)
    await this.until('the write is acknowledged', () => write.answer === 'ok', 5_000)
    return write
  }

  /** Another manager takes over. */
  async replaceManager(spec: ClusterOptions['spec'] = {}): Promise<void> {
    const { cluster } = this
    const next = 1 - cluster.managers.indexOf(this.manager)
    this.say('the manager dies, and another one takes over')
    cluster.killManager(1 - next)
    cluster.spec = { ...cluster.spec, ...spec }
    cluster.startManager(next)
    await this.until('another manager leads', () => this.manager.loop.leads)
  }

  /**
   * What some manager sent long ago arrives now. Gives the code of what refuses the order; '' where the agent obeys.
   */
  async late(to: Machine, path: string, order: object): Promise<string> {
    const { cluster } = this
    let answer: string | undefined
    this.say(`an old order arrives at ${to.name}: ${path}`)
    const ports = { ...cluster.transportPorts(), held: new HeldLetters() }
    const transport = simulatedTransport('an earlier manager', ports)
    transport.post(`${to.host}:9400`, path, order, 5_000).then(
      () => (answer = ''),
      (error: unknown) => (answer = codeOf(error)),
    )
    await this.until('the order is answered', () => answer !== undefined)
    return answer ?? ''
  }

  /** What each order to this one begins with, by the record. */
  orderFor({ name }: Machine) {
    const { cluster, epoch, revision } = this.record
    return { version: orderVersion, cluster, member: this.cluster.observation(name)?.member, epoch, revision }
  }

  /** A person asks. */
  ask(request: Request): void {
    const { life, loop } = this.manager
    life.enter(() => loop.addRequest(request))
  }

  askForSwitchover(to: Machine): void {
    this.ask({
      kind: 'switchover',
      id: `request-${this.cluster.time.count}`,
      to: to.name,
      deadlineWallMs: this.manager.loop.input().steadyWallMs + 10_000,
      reason: 'asked for',
    })
  }

  /** A person has another one lead, as far as that loses nothing. */
  askForFailover(): void {
    this.ask({ kind: 'failover', id: 'request-2', to: null, acceptLoss: false })
  }

  /** Nobody reaches this one, and this one reaches nobody of these. */
  cutOff(machine: Machine, from: readonly string[]): void {
    this.say(`${machine.name} is cut off from ${from.join(', ')}`)
    for (const other of from) this.cluster.network.separate(machine.name, other)
  }

  cutOffFromManagers(machine: Machine): void {
    this.cutOff(machine, ['manager-0', 'manager-1'])
  }

  joinManagers(machine: Machine): void {
    for (const manager of ['manager-0', 'manager-1']) this.cluster.network.join(machine.name, manager)
  }

  /** The applier of this one applies nothing from now on: what comes waits in the relay log. */
  /** Its server hears no acknowledgement any more, until the server is started again. */
  deafen({ name, mysqld }: Machine): void {
    this.say(`the server of ${name} hears its replicas no more`)
    if (mysqld !== null) mysqld.isDeaf = true
  }

  holdApplier({ mysqld }: Machine): void {
    if (mysqld !== null) mysqld.appliesNothing = true
  }

  releaseApplier({ mysqld }: Machine): void {
    if (mysqld === null) return
    mysqld.appliesNothing = false
    mysqld.apply()
  }

  /** The power goes, and with it everything in the relay log that was not synced. */
  powerCut(machine: Machine): void {
    this.say(`${machine.name} loses power`)
    this.cluster.crashMachine(machine)
    machine.folder?.losePageCache(() => 0)
  }

  /** Nobody tells its agent. */
  throwAwayReceived(machine: Machine): void {
    this.say(`a hand throws away what ${machine.name} received and has not applied`)
    machine.throwAwayReceived()
  }

  /** A primary is gone for good: its machine is off. */
  kill(machine: Machine): void {
    this.say(`${machine.name} is gone`)
    this.cluster.killAgent(machine)
    machine.mysqld?.die()
  }

  /** Everything that was broken ends: the cluster is whole again, and everybody has what was acknowledged. */
  async heal(): Promise<void> {
    const { cluster } = this
    this.say('everything is healed')
    cluster.held.lose()
    cluster.network.mend()
    cluster.network.slowAt.clear()
    for (const machine of cluster.machines) {
      machine.mysqld?.thaw()
      machine.agentLife?.thaw()
      this.releaseApplier(machine)
      cluster.startAgent(machine)
    }
    for (const [index, manager] of cluster.managers.entries()) {
      manager?.life.thaw()
      cluster.startManager(index)
    }
    await this.until('the cluster is whole', () => whatIsMissing(cluster) === undefined)
    await this.until('everybody has applied what was acknowledged', () =>
      cluster.machines.every((machine) => lacksAcknowledged(machine, this) === undefined),
    )
  }
}
