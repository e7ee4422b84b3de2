import { describeError } from '#common/errors/errors.ts'
import type { Platform } from '#common/ports/platform.ts'
import type { Timer, Transport, World } from '#common/ports/ports.ts'
import type { Store } from '#store/store.ts'
import { decide, modeOf } from '#failover/decide.ts'
import type { Action, CommitAction, Decision } from '#failover/protocol/decision.ts'
import { automaticFailoverAt } from '#failover/judge/failover-budget.ts'
import type { ClusterNotes, Recovery } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { DecisionInput, Request } from '#failover/judge/situation.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import type { AgentFeed } from './agent-feed.ts'
import { FollowedAgents } from './followed-agents.ts'
import { IncarnationBook } from './incarnation-book.ts'
import { LeaderWords } from './leader-words.ts'
import { LeaseDesk } from './lease-desk.ts'
import { NotesDesk } from './notes-desk.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import { observationIn, OrderDesk, type OrderOutcome } from './order-desk.ts'
import { RecordKeeper, type Done } from './record-keeper.ts'
import { RecoveryBook, type EndedRecovery } from './recovery-book.ts'
import { withRecovery } from './repair-codes.ts'
import { RequestBook } from './request-book.ts'
import { RouteKeeper } from './route-keeper.ts'
import { Sightings } from './sightings.ts'
import { StoreLooks } from './store-looks.ts'
import { StoreTrouble } from './store-trouble.ts'

/**
 * A leader's commit is a moment in which store and processor belong to what it does next: one that follows can wait.
 */
const followerReadsAfterMs = 1_000

export interface LoopPorts {
  readonly world: World
  readonly transport: Transport
  readonly feed: AgentFeed
  readonly store: Store
  readonly platform: Platform
}

export interface LoopConfig {
  readonly cluster: string
  readonly place?: NonNullable<DecisionInput['place']>
  readonly spec: ClusterSpec
  readonly timings: Timings
  /** Random id of this manager run. */
  readonly manager: string
}

/** What the rest of the manager is told. */
export interface LoopListener {
  /** A decision was made on `input`; `changed` when its sentence differs from the last. */
  decided(decision: Decision, changed: boolean, input: DecisionInput): void
  acted(action: Action): void
  answered(outcome: OrderOutcome): void
  recovered(recovery: EndedRecovery): void
  failed(what: string, error: unknown): void
}

/**
 * The loop of one cluster: observe → decide → act, one decision at a time, driven by what happens. It keeps nothing
 * that a successor would need: a manager that dies half-way is replaced by one that reads the record and the
 * observations and goes on.
 */
export class ClusterLoop {
  readonly #ports: LoopPorts
  #config: LoopConfig
  readonly #listener: LoopListener
  readonly #sightings: Sightings
  readonly #desk: OrderDesk
  readonly #book: RecoveryBook
  readonly #incarnations: IncarnationBook
  readonly #leases: LeaseDesk
  readonly #words: LeaderWords
  readonly #notes: NotesDesk
  readonly #agents: FollowedAgents
  readonly #beganMs: number
  #leadsSinceMs = 0
  readonly #requests: RequestBook
  readonly #records: RecordKeeper
  readonly #looks: StoreLooks
  readonly #route: RouteKeeper
  #decision: Decision | null = null
  #leads = false
  /** What it was told last of leadership: another object for each word. */
  #told = { leads: false }
  readonly #trouble = new StoreTrouble(() => this.wake())
  #queued = false
  #deciding = false
  #wokenMeanwhile = false
  #scaling = false
  #revisit: Timer | null = null

  constructor(ports: LoopPorts, config: LoopConfig, listener: LoopListener) {
    this.#ports = ports
    this.#config = config
    this.#listener = listener
    this.#beganMs = ports.world.clock.monotonicMs()
    this.#sightings = new Sightings(config.timings)
    this.#book = new RecoveryBook(ports.world.clock, ports.world.random)
    this.#incarnations = new IncarnationBook(
      (change) => this.changeNotes(change),
      () => this.#notes.damage !== '',
    )
    this.#notes = new NotesDesk({
      store: ports.store,
      timers: ports.world.timers,
      cluster: config.cluster,
      failed: (error) => this.#listener.failed('reading or writing the notes', error),
      mended: () => this.wake(),
    })
    this.#agents = new FollowedAgents(ports.feed, config.cluster, (name) => ({
      heard: (observation) => this.#heard(observation),
      alive: () => {
        if (this.#sightings.touch(name, ports.world.clock.monotonicMs())) this.wake()
        this.#sayWhoLeads(name)
      },
      lost: () => this.wake(),
      strange: (error) => this.#listener.failed(`hearing the agent of ${name}`, error),
    }))
    this.#records = new RecordKeeper(ports.store, config.cluster)
    this.#looks = new StoreLooks({
      timers: ports.world.timers,
      cluster: config.cluster,
      look: () => this.reread().then(() => this.wake()),
      failed: (error) => this.#listener.failed('reading the record', error),
    })
    this.#requests = new RequestBook({
      timers: ports.world.timers,
      memberAt: (instance) => this.#sightings.observationOf(instance)?.member,
      wake: () => this.wake(),
    })
    this.#route = new RouteKeeper(ports.platform, {
      moved: ({ instance }) => this.#book.note(`route moved to ${instance}`),
      looked: () => this.wake(),
      failed: (error) => this.#listener.failed('publishing the primary', error),
    })
    const answering = { ...ports, timings: config.timings, failed: listener.failed.bind(listener) }
    this.#leases = new LeaseDesk(answering, this.#sightings)
    this.#words = new LeaderWords(answering, this.#sightings)
    this.#desk = new OrderDesk(
      { ...ports, timings: config.timings },
      (name) => this.#sightings.addressOf(name),
      (outcome) => this.#orderAnswered(outcome),
    )
  }

  /** Begins to listen to agents. Decides only while `lead` said so. */
  async start(): Promise<void> {
    await this.#readInstances()
    this.#ports.platform.onChange(
      () => void this.#readInstances().catch((error: unknown) => this.#listener.failed('reading the instances', error)),
    )
  }

  stop(): void {
    void this.lead(false)
    this.#trouble.over()
    this.#revisit?.cancel()
    this.#agents.stop()
    this.#notes.stop()
  }

  /** What is wanted has changed. */
  changeSpec(spec: ClusterSpec): void {
    this.#config = { ...this.#config, spec }
    this.wake()
  }

  get spec(): ClusterSpec {
    return this.#config.spec
  }

  /**
   * Leadership came or went. A new leader reads everything before it decides; what it was told last counts, also when
   * it was told while it read.
   */
  async lead(leads: boolean): Promise<void> {
    const told = (this.#told = { leads })
    if (leads && !this.#leads) await this.reread()
    if (!leads) this.#trouble.tell({ reading: '', committing: '' })
    if (this.#told !== told) return
    if (leads && !this.#leads) this.#leadsSinceMs = this.#ports.world.clock.monotonicMs()
    this.#leads = leads
    this.#looks.regularly(leads)
    if (leads) this.wake()
  }

  get leads(): boolean {
    return this.#leads
  }

  /** The store took something (''), or did not, and why. */
  storeSaid(trouble: string): void {
    this.#trouble.tell({ store: trouble })
    // The record may have been mended: nothing else would tell.
    if (trouble === '' && this.#trouble.of('reading') !== '') void this.#looks.soon()
  }

  get record(): ClusterRecord | undefined {
    return this.#records.record
  }

  get notes(): ClusterNotes {
    return this.#notes.notes
  }

  /** Null when this manager has nothing to say: what it decided while it led may be out of date. */
  get decision(): Decision | null {
    return this.#speaks ? this.#decision : null
  }

  get recovery(): Recovery | null {
    return this.#book.current
  }

  /** What would be decided from now, for views and dry runs. */
  input(): DecisionInput {
    return this.#inputFrom(this.#heardNow())
  }

  /** What was heard counts as far as that may be believed (`incarnations.ts`). */
  #inputFrom(heard: Snapshot): DecisionInput {
    const { clock } = this.#ports.world
    return {
      ...this.#config,
      snapshot: this.#incarnations.believed(heard, this.notes),
      record: this.record,
      notes: this.notes,
      notesDamage: this.#notes.damage,
      requests: this.#requests.open,
      nowMs: clock.monotonicMs(),
      wallMs: clock.wallMs(),
      ...{ managerSinceMs: this.#beganMs, leadsSinceMs: this.#leadsSinceMs },
      follows: modeOf(this.#config.spec).follows,
      published: this.#route.published,
      ...this.#sightings.remembered,
      ...{ inFlight: this.#desk.inFlight, refused: this.#desk.refused },
      ...{ failedRequests: this.#requests.failed, givenUp: this.#requests.givenUp },
    }
  }

  #heardNow(): Snapshot {
    return this.#sightings.snapshot(this.#ports.world.clock.monotonicMs())
  }

  addRequest(request: Request): void {
    this.#requests.add(request)
    this.wake()
  }

  dropRequest(id: string): void {
    this.#requests.drop(id)
  }

  /** The volume of this member goes with its pod; the returned function takes that back. */
  giveUp(member: MemberId): () => void {
    return this.#requests.giveUp(member)
  }

  /** Changes the notes durably, then decides. */
  async changeNotes(change: (notes: ClusterNotes) => ClusterNotes): Promise<void> {
    await this.#notes.change(change)
    this.wake()
  }

  async reread(): Promise<void> {
    const isNewest = this.#records.look()
    const reads = [this.#records.read(), this.#route.read(), this.#notes.read()] as const
    const [record] = await this.#trouble.read(Promise.all(reads))
    const done = isNewest() ? this.#records.learn(record) : null
    if (done === null) return
    this.#committed(done)
    this.wake()
  }

  /** Asks for a decision as soon as what runs now is done. */
  wake(): void {
    if (!this.#speaks || this.#queued) return
    this.#queued = true
    void Promise.resolve()
      .then(() => {
        this.#queued = false
        return this.#turn()
      })
      .catch((error: unknown) => this.#listener.failed('deciding', error))
  }

  /**
   * A manager that lost its claim because the store is gone goes on saying what it sees, and so does one that cannot
   * take up its claim because the record cannot be read.
   */
  get #speaks(): boolean {
    return this.#leads || this.#trouble.of('store') !== '' || (this.#told.leads && this.#trouble.of('reading') !== '')
  }

  #decideOn(input: DecisionInput): Decision {
    if (input.record) this.#sightings.track({ ...input, record: input.record })
    const decision = decide(input)
    if (decision.actions.every(({ kind }) => kind !== 'commit')) this.#trouble.tell({ committing: '' })
    return this.#trouble.limit(decision, this.#leads)
  }

  async #turn(): Promise<void> {
    if (!this.#speaks) return
    // What happened may change what is being acted on: it is decided again at once.
    if (this.#deciding) return void (this.#wokenMeanwhile = true)
    this.#deciding = true
    try {
      const heard = this.#heardNow()
      this.#incarnations.see(heard, this.notes)
      const input = this.#inputFrom(heard)
      const decision = this.#decideOn(input)
      const changed = decision.sentence !== this.#decision?.sentence
      this.#decision = decision
      const ended = this.#leads ? this.#book.keep(decision, input) : null
      if (ended) this.#file(ended)
      this.#listener.decided(decision, changed, input)
      this.#planRevisit(decision, heard)
      if (this.#leads)
        this.#incarnations
          .note({ snapshot: heard, record: this.record, isQuiet: decision.flow === null }, this.notes)
          .catch((error: unknown) => this.#listener.failed('noting who is there', error))
      for (const action of decision.actions) {
        await this.#act(action)
        if (action.kind === 'commit') break
      }
    } finally {
      this.#deciding = false
      if (this.#wokenMeanwhile) this.wake()
      this.#wokenMeanwhile = false
    }
  }

  #planRevisit(decision: Decision, heard: Snapshot): void {
    const { clock, timers } = this.#ports.world
    this.#revisit?.cancel()
    const waits = [
      this.#incarnations.nextNotingMs(heard, this.notes, this.record),
      decision.revisitMs,
      this.#sightings.nextSilenceMs(clock.monotonicMs()),
      decision.actions.length > 0 ? 400 : null,
    ].filter((wait) => wait !== null)
    if (waits.length > 0) this.#revisit = timers.after(Math.max(1, Math.min(...waits)), () => this.wake())
  }

  async #act(action: Action): Promise<void> {
    switch (action.kind) {
      case 'commit':
        return this.#commit(action)
      case 'route':
        return void this.#route.publish(action.route)
      case 'scale':
        return void this.#scale(action.count)
      default:
        if (this.#desk.send(action)) this.#listener.acted(action)
    }
  }

  /** The only commit point. Whatever happens, what is in the store is read again unless that is known. */
  async #commit(action: CommitAction): Promise<void> {
    const revision = this.record?.revision ?? 0
    try {
      const done = await this.#records.commit(action)
      this.#trouble.over()
      if (done) this.#committed(done)
      else {
        this.#listener.failed('commit', new Error(`somebody else changed the record after revision ${revision}`))
        await this.reread()
      }
    } catch (error) {
      this.#listener.failed('commit', error)
      if (this.#leads) this.#trouble.tell({ committing: describeError(error) })
      // Tried again when the decision is due to be revisited: a store that refuses is not asked again and again.
      await this.reread().catch((again: unknown) => this.#listener.failed('reading the record', again))
      return
    }
    this.wake()
  }

  #committed(done: Done): void {
    const { before, action } = done
    this.#listener.acted(action)
    this.#book.committed(action, this.#config.place)
    const fails = before !== undefined && before.primary !== action.next.primary
    if (fails && this.#book.current?.kind === 'failover' && !this.#requests.asksForFailover)
      this.#notes.changeSoon(automaticFailoverAt(this.#ports.world.clock.wallMs()))
    this.#requests.committed(done)
  }

  async #scale(count: number): Promise<void> {
    if (this.#scaling) return
    this.#scaling = true
    try {
      await this.#ports.platform.scaleTo(count)
      await this.#readInstances()
    } catch (error) {
      this.#listener.failed(`scaling to ${count}`, error)
    } finally {
      this.#scaling = false
    }
  }

  #orderAnswered(outcome: OrderOutcome): void {
    const { action, ms, error } = outcome
    const observation = observationIn(outcome)
    if (observation) this.#sightings.hear(observation, this.#ports.world.clock.monotonicMs())
    const took = outcome.answer?.steps.map((step) => `${step.name} ${step.ms.toFixed(1)} ms`).join(', ') ?? ''
    this.#book.note(`${action.kind} ${action.to}: ${error || `${ms.toFixed(1)} ms${took ? ` (${took})` : ''}`}`)
    if (error !== '') this.#requests.orderFailed(outcome, this.record)
    this.#listener.answered(outcome)
    this.wake()
  }

  #file(ended: EndedRecovery): void {
    const { timedOut, requests, ...recovery } = ended
    this.#listener.recovered(ended)
    this.file(recovery)
  }

  readonly file = (recovery: Recovery): void => this.#notes.changeSoon(withRecovery(recovery))

  async #readInstances(): Promise<void> {
    const instances = await this.#ports.platform.instances()
    this.#sightings.setInstances(instances)
    this.#agents.follow(instances)
    this.wake()
  }

  #heard(observation: Observation): void {
    if (observation.cluster !== this.#config.cluster) return
    if (!this.#sightings.hear(observation, this.#ports.world.clock.monotonicMs())) return
    if (this.#leads && this.#incarnations.believes(observation, this.notes)) void this.#leases.confirm(observation)
    this.#sayWhoLeads(observation.instance)
    if (observation.stored.revision > (this.record?.revision ?? 0) && !this.#deciding)
      void this.#looks.soon(this.#leads ? 0 : followerReadsAfterMs)
    else this.wake()
  }

  /** Whoever can commit nothing does not say that somebody leads: a primary may have to go on alone. */
  #sayWhoLeads(instance: string): void {
    const observation = this.#sightings.observationOf(instance)
    if (!this.#leads || !this.#trouble.isOver || observation === null) return
    if (this.#incarnations.believes(observation, this.notes)) this.#words.say(observation, this.record)
  }
}
