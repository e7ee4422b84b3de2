import { described } from '#common/errors/errors.ts'
import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import type { PlatformInstance } from '#common/ports/platform.ts'
import type { AgentFeed } from '#manager/loop/agent-feed.ts'
import { wordOf, type AgentWord } from './agent-word.ts'
import { carryOut, type Proxy, type Refused } from './commands.ts'
import { readSlotsOf, stepsBetween, type Slots } from './haproxy-state.ts'
import type { EpochMemory } from './epoch-memory.ts'
import { LastReaders } from './last-readers.ts'
import type { RouterSettings } from '#failover/protocol/router-settings.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { Reasons } from './reasons.ts'
import { ledBefore, wantedSlots, type Led } from './wanted-slots.ts'
import { isOfOthers, whereTo, type KnownInstance, type NamedPrimary, type WhereTo } from './where-to.ts'

export interface RouterParts {
  readonly cluster: string
  readonly settings: RouterSettings
  readonly feed: AgentFeed
  readonly proxy: Proxy
  readonly memory: EpochMemory
  readonly nowMs: () => number
  /** Called once for each new sentence. */
  readonly told: (sentence: Sentence) => void
  readonly warn: (sentence: Sentence) => void
}

/** How the router leads HAProxy. */
export interface RouterState {
  /** The instance that new writing sessions are led to; '' while they wait, and while HAProxy is not led. */
  readonly leads: string
  readonly moves: number
  readonly failures: number
  /** Agents that are heard now. */
  readonly heard: number
  /** The sentence that says why; '' before the first. */
  readonly sentence: string
}

/** A machine that answers nobody for a lease counts as gone. */
const goneMs = defaultTimings.leaseMs

/** The number of vain tries to bring HAProxy into a state. */
const tries = 5

/** Follows record and agents of one cluster, and leads HAProxy. */
export class Router {
  readonly #parts: RouterParts
  #instances: readonly PlatformInstance[] = []
  readonly #words = new Map<string, AgentWord | null>()
  readonly #reasons = new Reasons()
  readonly #lastReaders = new LastReaders()
  readonly #follows = new Map<string, { readonly agent: string; readonly stop: () => void }>()
  /** The time since when nobody answers at the address of an instance. */
  readonly #silentSinceMs = new Map<string, number>()
  #record: NamedPrimary | null = null
  #hearsManager = false
  /** When a manager or an agent was heard last. The time counts only while nobody is heard. */
  #heardMs = -Infinity
  /** The time since when all agents are heard, and none ever promised the remembered epoch. */
  #othersSinceMs: number | undefined
  /** Undefined until HAProxy has told how another router led it. */
  #led: Led | undefined
  /** The state of HAProxy; undefined where HAProxy has to be asked. */
  #is: Slots | undefined
  /**
   * The number of times that HAProxy had to be asked. Commands that were under way then may have reached another
   * HAProxy.
   */
  #looks = 0
  #answers = false
  #failures = 0
  #last = ''
  #news = ''
  #leads = ''
  #leader = ''
  #moves = 0
  #failed = 0
  #ledMs = -Infinity
  #isDue = false
  #working: Promise<void> | undefined

  constructor(parts: RouterParts) {
    this.#parts = parts
  }

  /** Sets the instances of the cluster. */
  setInstances(instances: readonly PlatformInstance[]): void {
    this.#noteHeard()
    this.#instances = instances
    for (const [name, followed] of this.#follows) {
      if (instances.some((one) => one.name === name && one.agent === followed.agent)) continue
      followed.stop()
      this.#follows.delete(name)
      this.#words.delete(name)
      this.#reasons.forget(name)
    }
    for (const name of this.#silentSinceMs.keys())
      if (!instances.some((one) => one.name === name)) this.#silentSinceMs.delete(name)
    for (const { name, agent } of instances) if (!this.#follows.has(name) && agent !== '') this.#follow(name, agent)
    this.lead()
  }

  /** Sets the record as the manager shows it; null where no manager answers. */
  setRecord(view: { readonly epoch: number; readonly primary: string | null } | null): void {
    this.#noteHeard()
    this.#hearsManager = view !== null
    this.#record = view?.primary == null ? null : { epoch: view.epoch, primary: view.primary }
    this.lead()
  }

  /** Notes that HAProxy answers, and has to be asked for its state. Before the first note HAProxy is not led. */
  look(): void {
    this.#answers = true
    this.#looks += 1
    this.#is = undefined
    this.lead()
  }

  /** Notes why there is no HAProxy: whoever asks is told so, and the log once. */
  notStarted(sentence: Sentence): void {
    this.#leads = ''
    this.#say(sentence)
  }

  /** Leads HAProxy by the newest knowledge. A state in between may be left out. */
  lead(): void {
    if (!this.#answers) return
    this.#isDue = true
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
      if (this.#isDue) this.lead()
    })
  }

  get state(): RouterState {
    const heard = [...this.#words.values()].filter((word) => word !== null).length
    return { leads: this.#leads, moves: this.#moves, failures: this.#failed, heard, sentence: this.#last }
  }

  /** The time since HAProxy was led, or was found to be led rightly; infinite for never. */
  ledAgoMs(): number {
    return this.#parts.nowMs() - this.#ledMs
  }

  /** The time for which neither a manager nor an agent is heard; infinite before the first word. */
  unheardForMs(): number {
    return this.#isAnyoneHeard() ? 0 : this.#parts.nowMs() - this.#heardMs
  }

  /** Instances whose agents are not heard. */
  unheard(): readonly string[] {
    return this.#instances.flatMap(({ name }) => (this.#words.get(name) == null ? [name] : []))
  }

  stop(): void {
    for (const followed of this.#follows.values()) followed.stop()
    this.#follows.clear()
  }

  #follow(name: string, agent: string): void {
    let isSilent = false
    let isOver = false
    const hear = (word: AgentWord | null, why?: Sentence): void => {
      // The stream of the former address may end after the stream of the next address has begun.
      if (isOver) return
      this.#noteHeard()
      this.#words.set(name, word)
      this.#noteWhy(name, why)
      this.#noteSilence(name, isSilent)
      isSilent = false
      this.lead()
    }
    const stop = this.#parts.feed.follow(
      agent,
      { cluster: this.#parts.cluster, instance: name },
      {
        heard: (observation) => {
          const word = wordOf(observation)
          if (word === null) hear(null, say`what it says is not understood`)
          else hear(word)
        },
        alive: () => undefined,
        unreached: () => (isSilent = true),
        lost: (why) => hear(null, say`${reported(why)}`),
      },
    )
    this.#follows.set(name, { agent, stop: () => ((isOver = true), stop()) })
  }

  #noteWhy(name: string, why: Sentence | undefined): void {
    if (why === undefined) this.#reasons.forget(name)
    else if (this.#reasons.note(name, why)) this.#parts.warn(say`the agent of ${name} is not heard: ${why}`)
  }

  /** Called before another word, or silence, takes the place of the last word. */
  #noteHeard(): void {
    if (this.#isAnyoneHeard()) this.#heardMs = this.#parts.nowMs()
  }

  #isAnyoneHeard(): boolean {
    return this.#hearsManager || [...this.#words.values()].some((word) => word !== null)
  }

  #noteSilence(name: string, isSilent: boolean): void {
    if (!isSilent) this.#silentSinceMs.delete(name)
    else if (!this.#silentSinceMs.has(name)) this.#silentSinceMs.set(name, this.#parts.nowMs())
  }

  #isGone(name: string): boolean {
    return this.#parts.nowMs() - (this.#silentSinceMs.get(name) ?? Infinity) >= goneMs
  }

  async #work(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false
      await this.#leadOnce()
    }
  }

  async #leadOnce(): Promise<void> {
    const { proxy, settings, nowMs } = this.#parts
    const looks = this.#looks
    const instances = this.#instances.map(({ name, host, port }) => ({
      name,
      host,
      port,
      word: this.#words.get(name) ?? null,
      whyUnheard: this.#reasons.of(name),
      isGone: this.#isGone(name),
    }))
    try {
      const where = this.#whereTo(instances)
      this.#is ??= readSlotsOf(await proxy.tell(['show servers state']))
      const before = this.#led ?? ledBefore(this.#is)
      const { slots, led } = wantedSlots(before, { where, instances, drainMs: settings.drainMs, nowMs: nowMs() })
      const steps = stepsBetween(this.#is, slots)
      const refused = await carryOut(proxy, steps)
      if (refused !== undefined) return await this.#isRefused(refused, { where, led })
      this.#is = looks !== this.#looks ? undefined : steps.length === 0 ? this.#is : slots
      this.#led = led
      this.#failures = 0
      this.#leadsTo(where.write?.name ?? '')
      this.#say(where.sentence)
    } catch (error) {
      await this.#fails(say`HAProxy is not led: ${described(error)}`)
    }
  }

  /** Nobody knows the state of HAProxy then. Where only reads are refused, writing sessions are led all the same. */
  async #isRefused({ sentence, writes }: Refused, { where, led }: { where: WhereTo; led: Led }): Promise<void> {
    this.#led = writes === 'are led' ? led : undefined
    if (writes === 'are led') this.#leadsTo(where.write?.name ?? '')
    await this.#fails(sentence, writes)
  }

  async #fails(sentence: Sentence, writes: Refused['writes'] = 'wait'): Promise<void> {
    this.#is = undefined
    if (writes !== 'are led') this.#leads = ''
    this.#say(sentence)
    this.#failures += 1
    this.#failed += 1
    if (!isRestartDue(this.#failures, writes)) return
    await this.#parts.proxy.restart().catch((error: unknown) => this.#say(notRestarted(error)))
  }

  #whereTo(instances: readonly KnownInstance[]): WhereTo {
    const { memory, settings, nowMs } = this.#parts
    this.#doubtMemory(instances)
    const lastReaders = this.#lastReaders.names(settings.reads.maxLagMs)
    const where = whereTo({ instances, record: this.#record, highest: memory.highest, lastReaders }, settings)
    this.#lastReaders.note(where, nowMs())
    // Sessions do not wait for the disk. Only this router's memory of the epoch is lost if the router ends before the
    // write.
    memory.note(where.epoch)
    return where
  }

  /**
   * A person may begin anew below an epoch that was lost with its volumes. The memory goes once all agents have said so
   * for a lease.
   */
  #doubtMemory(instances: readonly KnownInstance[]): void {
    const { memory, nowMs } = this.#parts
    this.#othersSinceMs = isOfOthers(memory.highest, instances) ? (this.#othersSinceMs ?? nowMs()) : undefined
    if (this.#othersSinceMs === undefined || nowMs() - this.#othersSinceMs < goneMs) return
    memory.forget()
    this.#othersSinceMs = undefined
  }

  #say(sentence: Sentence): void {
    this.#last = String(sentence)
    if (sentence.news === this.#news) return
    this.#news = sentence.news
    this.#parts.told(sentence)
  }

  #leadsTo(instance: string): void {
    this.#ledMs = this.#parts.nowMs()
    this.#leads = instance
    if (instance === '' || instance === this.#leader) return
    if (this.#leader !== '') this.#moves += 1
    this.#leader = instance
  }
}

/**
 * A restart ends every session. So a refusal of reads alone causes one restart. A restart comes at once where writes
 * may go astray.
 */
function isRestartDue(failures: number, writes: Refused['writes']): boolean {
  if (writes === 'are led') return failures === tries
  return failures % tries === 0 || (writes === 'go on' && failures === 1)
}

function notRestarted(error: unknown): Sentence {
  return say`HAProxy is not led, and is not started again: ${described(error)}`
}
