import type { Platform } from '#common/ports/platform.ts'
import type { Timer, Transport, World } from '#common/ports/ports.ts'
import type { Store } from '#store/store.ts'
import { decide, modeOf } from '#failover/decide.ts'
import type { Action, CommitAction, Decision } from '#failover/protocol/decision.ts'
import { automaticFailoverAt } from '#failover/judge/election/failover-budget.ts'
import { withPromotions } from '#failover/judge/election/promotions.ts'
import type { ClusterNotes, Recovery } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { DecisionInput, Request } from '#failover/judge/situation.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import type { AgentFeed } from './agent-feed.ts'
import { FollowedAgents } from './followed-agents.ts'
import { HookDesk } from './hooks/hook-desk.ts'
import type { HookPort } from './hooks/hook-port.ts'
import { IncarnationBook } from './books/incarnation-book.ts'
import { LeaderWords } from './leader-words.ts'
import { LeaseDesk } from './lease-desk.ts'
import type { LoopListener } from './loop-listener.ts'
import { atFirst, reduce, speaks, type LoopEvent } from './loop-state.ts'
import { momentsFromNow } from './moments.ts'
import { NotesDesk } from './books/notes-desk.ts'
import { oneAtATime } from './one-at-a-time.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import { OrderDesk, type OrderOutcome } from './order-desk.ts'
import { RecordKeeper, type Done } from './record-keeper.ts'
import { RecoveryBook, toFile, type EndedRecovery } from './books/recovery-book.ts'
import { withRecovery } from './books/repair-codes.ts'
import { RequestBook } from './request-book.ts'
import { RouteKeeper } from './route-keeper.ts'
import { Sightings } from './sightings.ts'
import { followerReadsAfterMs, StoreLooks } from './store-looks.ts'
import { limited, whyNoCommit } from './store-trouble.ts'
import { WordDesk } from './word-desk.ts'

export interface LoopPorts {
  readonly world: World
  readonly transport: Transport
  readonly feed: AgentFeed
  readonly store: Store
  readonly platform: Platform
  readonly hooks: HookPort
}

export interface LoopConfig {
  readonly cluster: string
  readonly place?: NonNullable<DecisionInput['place']>
  readonly spec: ClusterSpec
  readonly timings: Timings
  /** Random id of this manager run. */
  readonly manager: string
}

/**
 * The loop of one cluster: observe → decide → act, one decision at a time, driven by what happens. The loop keeps
 * nothing that a successor would need: a manager that dies half-way is replaced by one that reads the record and the
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
  readonly #says: WordDesk
  readonly #notes: NotesDesk
  readonly #agents: FollowedAgents
  readonly #moments: ReturnType<typeof momentsFromNow>
  readonly #requests: RequestBook
  readonly #records: RecordKeeper
  readonly #looks: StoreLooks
  readonly #route: RouteKeeper
  readonly #hooks: HookDesk
  #state = atFirst
  #decision: Decision | null = null
  #revisit: Timer | null = null

  constructor(ports: LoopPorts, config: LoopConfig, listener: LoopListener) {
    this.#ports = ports
    this.#config = config
    this.#listener = listener
    this.#moments = momentsFromNow(ports.world.clock)
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
      failed: this.#failed('reading or writing the notes'),
      mended: () => this.wake(),
    })
    this.#agents = new FollowedAgents(ports.feed, config.cluster, (name) => ({
      heard: (observation) => this.#heard(observation),
      alive: () => {
        if (this.#sightings.touch(name, ports.world.clock.monotonicMs())) this.wake()
        this.#sayWhoLeads(name)
      },
      ...{ lost: () => this.#requests.lost(name), blind: (why: string) => this.#sightings.setTrouble(name, why) },
      strange: this.#failed(`hearing the agent of ${name}`),
    }))
    this.#records = new RecordKeeper(ports.store, config.cluster)
    this.#looks = new StoreLooks({
      ...{ timers: ports.world.timers, cluster: config.cluster },
      look: () => this.reread(),
      failed: this.#failed('reading the record'),
    })
    this.#requests = new RequestBook({
      timers: ports.world.timers,
      memberAt: (instance) => this.#sightings.observationOf(instance)?.member,
      wake: () => this.wake(),
    })
    this.#route = new RouteKeeper(ports.platform, {
      moved: ({ instance }) => this.#book.note(`route moved to ${instance}`),
      looked: () => this.wake(),
      failed: this.#failed('publishing the primary'),
    })
    this.#hooks = new HookDesk({
      ...{ ...ports, notes: this.#notes, book: this.#book, loop: this },
      ended: listener.hookEnded.bind(listener),
      failed: this.#failed('writing down what hooks do'),
    })
    const answering = { ...ports, timings: config.timings, failed: listener.failed.bind(listener) }
    this.#leases = new LeaseDesk(answering, this.#sightings)
    this.#words = new LeaderWords(answering, this.#sightings)
    this.#says = new WordDesk(answering, (name) => this.#sightings.addressOf(name))
    this.#desk = new OrderDesk(
      { ...ports, timings: config.timings },
      (name) => this.#sightings.addressOf(name),
      (outcome) => this.#orderAnswered(outcome),
    )
  }

  /** Begins to listen to agents. Decides only while `lead` said so. */
  async start(): Promise<void> {
    await this.#readInstances()
    this.#ports.platform.onChange(() => void this.#readInstances().catch(this.#failed('reading the instances')))
  }

  /** Stops after what waits to be written is: the next leader must know of it. Never rejects. */
  async finish(): Promise<void> {
    if (this.leads) await this.#notes.writeNow().catch(this.#failed('writing the notes'))
    this.stop()
  }

  stop(): void {
    this.#on({ event: 'told', leads: false })
    this.#on({ event: 'storeTakes' })
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

  /** Leadership came or went. Rejects where a new leader cannot read what it is to decide on. */
  async lead(leads: boolean): Promise<void> {
    this.#on({ event: 'told', leads })
    if (!leads || this.leads) return
    const { word } = this.#state.told
    await this.#read()
    this.#on({ event: 'readForWord', word, nowMs: this.#ports.world.clock.monotonicMs() })
  }

  get leads(): boolean {
    return this.#state.leads
  }

  /** The store took something (''), or did not, and why. */
  storeSaid(store: string): void {
    this.#on({ event: 'storeSaid', store })
  }

  get record(): ClusterRecord | undefined {
    return this.#records.record
  }

  get notes(): ClusterNotes {
    return this.#notes.notes
  }

  /** Null when this manager has nothing to say: what it decided while it led may be out of date. */
  get decision(): Decision | null {
    return speaks(this.#state) ? this.#decision : null
  }

  get recovery(): Recovery | null {
    return this.#book.current
  }

  /**
   * What would be decided from now, for views and dry runs. What was heard counts as far as that may be believed
   * (`incarnations.ts`).
   */
  input(heard = this.#heardNow()): DecisionInput {
    const moments = this.#moments()
    return {
      ...this.#config,
      spec: withPromotions(this.#config.spec, this.notes, moments.wallMs),
      snapshot: this.#incarnations.believed(heard, this.notes),
      ...{ record: this.record, notes: this.notes },
      ...(this.#book.current && { recovery: this.#book.current }),
      ...{ notesDamage: this.#notes.damage, requests: this.#requests.open },
      ...{ ...moments, leadsSinceMs: this.#state.leadsSinceMs },
      ...{ follows: modeOf(this.#config.spec).follows, published: this.#route.published },
      ...this.#sightings.remembered(this.record),
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

  /** Reads again what is stored and published, then decides. */
  async reread(): Promise<void> {
    await this.#read()
    this.wake()
  }

  async #read(): Promise<void> {
    const isNewest = this.#records.look()
    const reads = Promise.all([this.#records.read(), this.#route.read(), this.#notes.read()])
    reads.catch((error: unknown) => this.#on({ event: 'unreadable', error }))
    const [record] = await reads
    this.#on({ event: 'read' })
    const done = isNewest() ? this.#records.learn(record) : null
    if (done) this.#committed(done)
  }

  /** Asks for a decision as soon as what runs now is done. */
  wake(): void {
    this.#on({ event: 'woken' })
  }

  #on(event: LoopEvent): void {
    const { leads } = this.#state
    const { state, todo } = reduce(this.#state, event)
    this.#state = state
    if (leads && !state.leads) this.#listener.ledNoMore()
    this.#looks.regularly(state.leads)
    for (const what of todo)
      if (what === 'turn')
        void Promise.resolve()
          .then(() => this.#turn())
          .catch(this.#failed('deciding'))
      else void this.#looks.soon(what === 'look' ? 0 : followerReadsAfterMs)
  }

  #failed(what: string): (error: unknown) => void {
    return (error) => this.#listener.failed(what, error)
  }

  async #turn(): Promise<void> {
    this.#on({ event: 'turnBegan' })
    if (this.#state.turn !== 'under way') return
    try {
      await this.#decide()
    } finally {
      this.#on({ event: 'turnEnded' })
    }
  }

  #decideOn(input: DecisionInput): Decision {
    if (input.record) this.#sightings.track({ ...input, record: input.record })
    const decision = decide(input)
    if (decision.actions.every(({ kind }) => kind !== 'commit')) this.#on({ event: 'nothingToCommit' })
    return limited(decision, this.#state.trouble, this.leads)
  }

  async #decide(): Promise<void> {
    const heard = this.#heardNow()
    this.#incarnations.see(heard, this.notes)
    const input = this.input(heard)
    const decision = this.#decideOn(input)
    const changed = decision.sentence !== this.#decision?.sentence
    this.#decision = decision
    if (this.leads) this.#keep(decision, input)
    this.#listener.decided(decision, changed, input)
    this.#planRevisit(decision, heard)
    if (this.leads)
      this.#incarnations
        .note({ snapshot: heard, record: this.record, isQuiet: decision.flow === null }, this.notes)
        .catch(this.#failed('noting who is there'))
    // Promises go above all that agents stored, and these may act on a record that another manager made since.
    if (input.record === undefined && decision.actions.some(({ kind }) => kind === 'promise')) {
      await this.#read()
      if (this.record !== undefined) return this.wake()
    }
    for (const action of decision.actions) {
      await this.#act(action)
      if (action.kind === 'commit') break
    }
  }

  #keep(decision: Decision, input: DecisionInput): void {
    const ended = this.#book.keep(decision, input)
    if (ended) this.#file(ended)
    this.#hooks.keep(input, ended && toFile(ended))
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
      case 'hooks':
        return this.#hooks.begin(action)
      case 'say':
        return void (this.#says.say(action) && this.#listener.acted(action))
      default:
        if (this.#desk.send(action)) this.#listener.acted(action)
    }
  }

  /** The only commit point. Whatever happens, what is in the store is read again unless that is known. */
  async #commit(action: CommitAction): Promise<void> {
    const revision = this.record?.revision ?? 0
    // What comes after it must be known to whoever leads next.
    if (this.#hooks.filed !== undefined) await this.#hooks.filed
    try {
      const done = await this.#records.commit(action)
      this.#on({ event: 'storeTakes' })
      if (done) return this.#committed(done)
      this.#listener.failed('commit', new Error(`somebody else changed the record after revision ${revision}`))
      await this.reread()
    } catch (error) {
      this.#listener.failed('commit', error)
      this.#on({ event: 'refused', error })
      // Tried again when the decision is due to be revisited: a store that refuses is not asked again and again.
      await this.#read().catch(this.#failed('reading the record'))
    }
  }

  #committed(done: Done): void {
    const { before, action } = done
    this.#listener.acted(action)
    this.#book.committed(action, this.#config.place)
    const fails = before !== undefined && before.primary !== action.next.primary
    if (fails && this.#book.current?.kind === 'failover' && !this.#requests.asksForFailover)
      this.#notes.changeSoon(automaticFailoverAt(this.#ports.world.clock.wallMs()))
    this.#requests.committed(done)
    this.wake()
  }

  readonly #scale = oneAtATime(async (count: number) => {
    await this.#ports.platform.scaleTo(count)
    await this.#readInstances()
  }, this.#failed('scaling'))

  #orderAnswered(outcome: OrderOutcome): void {
    const { action, ms, answer, error } = outcome
    const observation = answer?.observation
    if (observation) this.#sightings.hear(observation, this.#ports.world.clock.monotonicMs())
    const took = answer?.steps.map((step) => `${step.name} ${step.ms.toFixed(1)} ms`).join(', ') ?? ''
    this.#book.note(`${action.kind} ${action.to}: ${error || `${ms.toFixed(1)} ms${took ? ` (${took})` : ''}`}`)
    if (error !== '') this.#requests.orderFailed(outcome, this.record)
    this.#listener.answered(outcome)
    this.wake()
  }

  #file(ended: EndedRecovery): void {
    for (const id of ended.requests) this.#requests.drop(id)
    this.#listener.recovered(ended)
    this.file(toFile(ended))
  }

  readonly file = (recovery: Recovery): void => this.#notes.changeSoon(withRecovery(recovery))

  async #readInstances(): Promise<void> {
    const instances = await this.#agents.newest(this.#ports.platform.instances())
    this.#sightings.setInstances(instances)
    this.#agents.follow(instances)
    this.wake()
  }

  #heard(observation: Observation): void {
    if (observation.cluster !== this.#config.cluster) return
    this.#requests.heard(observation.instance)
    if (!this.#sightings.hear(observation, this.#ports.world.clock.monotonicMs())) return
    this.#desk.heard(observation)
    if (this.leads && this.#incarnations.believes(observation, this.notes)) void this.#leases.confirm(observation)
    this.#sayWhoLeads(observation.instance)
    this.#on({ event: observation.stored.revision > (this.record?.revision ?? 0) ? 'heardNewer' : 'woken' })
  }

  /** A manager that can commit nothing does not say that somebody leads: a primary may have to go on alone. */
  #sayWhoLeads(instance: string): void {
    const observation = this.#sightings.observationOf(instance)
    if (!this.leads || observation === null || whyNoCommit(this.#state.trouble) !== '') return
    if (this.#incarnations.believes(observation, this.notes)) this.#words.say(observation, this.record)
  }
}
