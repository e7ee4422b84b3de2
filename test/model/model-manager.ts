import { leads } from '../../agents/instance/stored-state.ts'
import type { Decision } from '../../failover/protocol/decision.ts'
import type { ClusterNotes } from '../../failover/protocol/notes.ts'
import type { ClusterRecord } from '../../failover/protocol/record.ts'
import { fetchKey } from '../../failover/protocol/order.ts'
import { believed, standingOf, unnoted, withIncarnation } from '../../failover/judge/incarnations.ts'
import { isFollowing, type DecisionInput, type Request, type RequestFailure } from '../../failover/judge/situation.ts'
import { defaultTimings } from '../../failover/protocol/timings.ts'
import { saysUnsettled, withUnsettled } from '../../failover/judge/unsettled.ts'
import type { InstanceName } from '../../topology/snapshot/member.ts'
import type { InstanceView, Snapshot } from '../../topology/snapshot/snapshot.ts'
import { hostOf } from '../../topology/testing.ts'
import type { Instance } from './instance.ts'
import { observe } from './model-observation.ts'
import type { SentOrder } from './model-agent.ts'
import type { ModelWorld } from './model-world.ts'

/** Schedules are short. */
const timings = { ...defaultTimings, slowOpeningMs: 1_000 }

/** One order on its way. */
export interface Letter {
  readonly from: ModelManager
  readonly to: InstanceName
  readonly sent: SentOrder
  readonly sentMs: number
}

/** One manager: what it last read and heard, which may be long ago. Decides with the real `decide`. */
export class ModelManager {
  readonly #world: ModelWorld
  readonly number: number
  #run: string
  record: ClusterRecord
  notes: ClusterNotes
  requests: Request[] = []
  readonly views = new Map<InstanceName, InstanceView>()
  readonly cutFrom = new Set<InstanceName>()
  readonly #strayingSince = new Map<InstanceName, number>()
  readonly #failedRequests = new Map<string, RequestFailure>()
  readonly #failedFetches = new Map<string, number>()
  readonly #notedRuns = new Set<string>()
  #sinceMs: number
  lastSentence = ''

  constructor(world: ModelWorld, number: number) {
    this.#world = world
    this.number = number
    this.record = world.record
    this.notes = world.notes
    this.#sinceMs = world.nowMs
    this.#run = `manager-${number}-0`
  }

  /** Dies and is started again: it knows nothing but the record. */
  restart(): void {
    this.#sinceMs = this.#world.nowMs
    this.#run = `manager-${this.number}-${this.#world.nowMs}`
    this.requests = []
    this.views.clear()
    this.#strayingSince.clear()
    this.#failedRequests.clear()
    this.#failedFetches.clear()
    this.#notedRuns.clear()
    this.record = this.#world.record
    this.notes = this.#world.notes
  }

  readRecord(): void {
    this.record = this.#world.record
    this.notes = this.#world.notes
  }

  /** Hears one instance, or finds that it cannot. */
  look(name: InstanceName): void {
    const instance = this.#world.named(name)
    const known = this.views.get(name)
    if (!instance?.exists) return void this.views.delete(name)
    const heard = instance.agentUp && !this.cutFrom.has(name)
    if (heard && leads(instance.disk)) this.#tellOfForgetful(instance)
    this.views.set(name, {
      name,
      host: hostOf(name),
      port: 3306,
      agent: `${hostOf(name)}:9400`,
      observation: heard ? observe(this.#world, instance) : (known?.observation ?? null),
      heardAtMs: heard ? this.#world.nowMs : (known?.heardAtMs ?? null),
      reachable: heard,
    })
  }

  /** With the word that somebody leads, before it says anything more (`src/manager/loop/leader-words.ts`). */
  #tellOfForgetful({ memory, mysqld }: Instance): void {
    const told = [...this.views.values()].flatMap(({ name, observation }) =>
      observation?.forgetfulAs === undefined ? [] : [[name, observation.forgetfulAs] as const],
    )
    if (told.length > 0 && mysqld === 'running') memory.heardForgetful = Object.fromEntries(told)
  }

  lookAtAll(): void {
    for (const { name } of this.#world.instances) this.look(name)
    this.readRecord()
  }

  /** Decides from what it knows, puts the record where it says and sends the orders. */
  act(): Decision {
    const input = this.#input()
    const decision = this.#world.decide(input)
    this.lastSentence = decision.sentence
    this.#note(decision.flow === null)
    for (const action of decision.actions) {
      if (action.kind === 'commit') this.#commit(action.next)
      else if (action.kind === 'scale') this.#world.scaleTo(action.count)
      else if (action.kind !== 'route' && action.kind !== 'passwords')
        this.#world.send({ from: this, to: action.to, sent: action, sentMs: this.#world.nowMs })
    }
    return decision
  }

  refused(sent: SentOrder, why: string): void {
    const { intent } = this.record
    if (sent.kind !== 'assign' && intent?.kind === 'switchover')
      this.#failedRequests.set(intent.request, { why, timedOut: false })
    const source =
      sent.kind === 'fetch' && intent?.kind === 'fetch'
        ? this.views.get(sent.order.from.instance)?.observation?.member
        : undefined
    if (sent.kind === 'fetch' && source !== undefined)
      this.#failedFetches.set(fetchKey(sent.order.member, source), this.#world.nowMs)
  }

  #commit(next: ClusterRecord): void {
    this.#world.compareAndSwap(this.record.revision, next)
    this.record = this.#world.record
    this.requests = []
  }

  #input(): DecisionInput {
    const { nowMs, notes, spec } = this.#world
    const { instances } = this.#believed()
    this.#noteStraying(instances)
    return {
      cluster: 'shop',
      snapshot: { instances },
      record: this.record,
      notes,
      spec,
      timings,
      requests: this.requests,
      nowMs,
      wallMs: nowMs,
      manager: this.#run,
      managerSinceMs: this.#sinceMs,
      leadsSinceMs: this.#sinceMs,
      published: undefined,
      strayingSince: this.#strayingSince,
      inFlight: this.#inFlight(),
      refused: new Map(),
      failedRequests: new Map([...this.#failedRequests, ...this.#fetchesThatFailed()]),
    }
  }

  /** As long as the real manager remembers them. */
  #fetchesThatFailed(): readonly (readonly [string, RequestFailure])[] {
    return [...this.#failedFetches]
      .filter(([, atMs]) => this.#world.nowMs - atMs < 30_000)
      .map(([key]) => [key, { why: 'refused', timedOut: false }])
  }

  /** As `src/manager/loop/run-book.ts` does, from notes that may be old. */
  #believed(): Snapshot {
    const heard = this.#heard()
    if (this.#world.flaws.believesThePast) return heard
    for (const { observation } of heard.instances)
      if (observation && standingOf(this.notes, observation) === 'known') this.#notedRuns.add(observation.agentRun)
    return believed(heard, this.notes, this.#notedRuns)
  }

  #heard(): Snapshot {
    return {
      instances: this.#world.instances.flatMap(({ name, exists }) =>
        exists ? [this.views.get(name) ?? unheard(name)] : [],
      ),
    }
  }

  #note(isQuiet: boolean): void {
    const heard = this.#heard()
    const fresh = unnoted(heard, this.notes)
    const pressing =
      saysUnsettled(this.notes, heard, this.record) || fresh.some(({ agentRun }) => !this.#notedRuns.has(agentRun))
    if (!isQuiet && !pressing) return
    this.#world.notes = withUnsettled(fresh.reduce(withIncarnation, this.#world.notes), heard, this.record)
    this.notes = this.#world.notes
    for (const { agentRun } of fresh) this.#notedRuns.add(agentRun)
  }

  #inFlight(): DecisionInput['inFlight'] {
    const mine = this.#world.letters.filter(({ from }) => from === this)
    return new Map(mine.map(({ to, sent, sentMs }) => [to, { order: sent.kind, sinceMs: sentMs }]))
  }

  #noteStraying(instances: readonly InstanceView[]): void {
    for (const view of instances) {
      if (isFollowing(view, this.record, defaultTimings)) this.#strayingSince.delete(view.name)
      else if (!this.#strayingSince.has(view.name)) this.#strayingSince.set(view.name, this.#world.nowMs)
    }
  }
}

function unheard(name: InstanceName): InstanceView {
  return {
    name,
    host: hostOf(name),
    port: 3306,
    agent: `${hostOf(name)}:9400`,
    observation: null,
    heardAtMs: null,
    reachable: false,
  }
}
