import type { AgentView } from '#api-contract/agent-view.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import type { ClusterView, TopologyView } from '#api-contract/views.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import { Watches } from '#common/watch/watches.ts'
import { promotionsAt } from '#failover/judge/election/promotions.ts'
import type { ClusterNotes, Recovery } from '#failover/protocol/notes.ts'
import { ProblemBook } from '#manager/clusters/problem-book.ts'
import type { ClusterEvent, KnownCluster } from '#manager/clusters/cluster-service.ts'
import { hostsOf, type AdoptedHost, type Adoption } from '../adoption.ts'
import type { Login } from '../servers/session.ts'
import type { RecoveryEnded } from '#manager/clusters/watched.ts'
import { endedLater } from './asked-recovery.ts'
import { Episodes } from './episodes.ts'
import { HostWatcher } from './host-watcher.ts'
import { judge, type Judgement } from './judge.ts'
import { knownOf } from './known.ts'
import type { Look } from './look.ts'
import { needsOf } from './needs.ts'
import { watchedTopology, watchedView } from './views.ts'

const lookEveryMs = 1_000
/** Looks that end in one moment are judged together. */
const judgePauseMs = 25

export interface WatchedPorts {
  readonly world: World
  readonly log: Logger
  readonly login: (host: AdoptedHost) => Promise<Login>
  /** Outages of before. */
  readonly recoveries: readonly Recovery[]
  readonly keep: (recoveries: readonly Recovery[]) => void
  /** What people said of it before, and how that is kept: durably before it resolves. */
  readonly notes: ClusterNotes
  readonly changeNotes: (change: (notes: ClusterNotes) => ClusterNotes) => Promise<ClusterNotes>
  /** Whether somebody wants what only some ask for. */
  readonly wantsMore?: () => boolean
}

/** So long looks may take that somebody waits for: one at a silent server, after one that is under way. */
const freshWithinMs = 5_000
const lookAgainMs = 20

/** A cluster that Regent only watches: its looks, what is judged of them, and its listeners. */
export class WatchedCluster {
  readonly adoption: Adoption
  readonly #ports: WatchedPorts
  readonly #watchers: readonly HostWatcher[]
  readonly #watches: Watches
  readonly #episodes: Episodes
  readonly #problems = new ProblemBook()
  readonly #listeners = new Set<(event: ClusterEvent) => void>()
  #judgement: Judgement | undefined
  #news = ''
  #planned: Timer | undefined
  #lastView = ''
  #notes: ClusterNotes

  constructor(adoption: Adoption, ports: WatchedPorts) {
    const { world, log, login, recoveries, wantsMore } = ports
    this.adoption = adoption
    this.#notes = ports.notes
    this.#ports = ports
    this.#episodes = new Episodes(recoveries, () => world.random.hex(8))
    this.#watches = new Watches(world, (_, sentence) => log.warn(String(sentence)))
    this.#watchers = hostsOf(adoption).map(
      (host) =>
        new HostWatcher(host, {
          login: () => login(host),
          clock: world.clock,
          saw: (look, isOther) => this.#saw(look, isOther),
          ...(wantsMore && { wantsMore }),
        }),
    )
  }

  start(): void {
    this.#watches.every(lookEveryMs, this.#watchers)
    for (const watcher of this.#watchers) this.#watches.lookNow(watcher)
  }

  stop(): void {
    this.#watches.stop()
    this.#planned?.cancel()
    for (const watcher of this.#watchers) watcher.stop()
  }

  get looks(): readonly Look[] {
    return this.#watchers.map(({ newest }) => newest)
  }

  get recoveries(): readonly Recovery[] {
    return this.#episodes.list
  }

  /** Notes a recovery that somebody asked for, as it is now. */
  noteRecovery(recovery: Recovery): void {
    this.#episodes.put(recovery)
    this.#ports.keep(this.#episodes.ended)
  }

  /** Ends recoveries that a manager before this one has begun, and not ended. */
  endRecoveries(ended: RecoveryEnded): void {
    for (const recovery of this.#episodes.ended)
      if (recovery.outcome === 'running') this.noteRecovery(endedLater(recovery, ended))
  }

  get notes(): ClusterNotes {
    return this.#notes
  }

  async changeNotes(change: (notes: ClusterNotes) => ClusterNotes): Promise<void> {
    this.#notes = await this.#ports.changeNotes(change)
    this.#judge()
  }

  known(): KnownCluster {
    const nowMs = this.#ports.world.clock.monotonicMs()
    return knownOf({ ...this.#seen, nowMs })
  }

  /** Resolves once every server was looked at after this moment, or too long after. */
  async lookNow(): Promise<void> {
    const { clock, timers } = this.#ports.world
    const sinceMs = clock.monotonicMs()
    const old = (): readonly HostWatcher[] => this.#watchers.filter(({ lookBeganMs }) => lookBeganMs < sinceMs)
    for (const watcher of this.#watchers) watcher.wake()
    for (let left = old(); left.length > 0 && clock.monotonicMs() < sinceMs + freshWithinMs; left = old()) {
      for (const watcher of left) this.#watches.lookNow(watcher)
      await timers.sleep(lookAgainMs)
    }
    this.#judge()
  }

  view(): ClusterView {
    return watchedView(this.#seen)
  }

  topology(): TopologyView {
    return watchedTopology(this.#seen)
  }

  explain(): ExplainView {
    const { sentence, kind, reasons, analyses } = this.#judgement ?? this.#judge()
    return {
      sentence: String(sentence),
      blocked: kind === 'dead' || kind === 'unreachable',
      reasons: reasons.map(String),
      analyses: analyses.map((one) => ({ ...one, sentence: String(one.sentence) })),
      record: null,
      watched: needsOf(this.adoption, this.looks),
    }
  }

  agents(): readonly AgentView[] {
    const views = this.#watches.list()
    return this.#watchers.map(({ name, newest }) => {
      const watches = views.filter((view) => view.name === name)
      return { instance: newest.host.instance, failure: watches[0]?.failure ?? '', watches, facts: [] }
    })
  }

  subscribe(listener: (event: ClusterEvent) => void): () => void {
    this.#listeners.add(listener)
    // A new listener knows the present view, and perhaps not the one that was told last.
    this.#lastView = ''
    return () => this.#listeners.delete(listener)
  }

  /** Tells listeners that nothing more comes. To be called once the cluster is listed no more. */
  tellGone(): void {
    for (const listener of this.#listeners) listener({ type: 'gone' })
  }

  get #seen() {
    return {
      ...{ adoption: this.adoption, looks: this.looks, judgement: this.#judgement ?? this.#judge() },
      ...{ problems: this.#problems, wallMs: this.#ports.world.clock.wallMs(), notes: this.#notes },
    }
  }

  /** Where one goes otherwise than before the others are looked at at once: who has lost a primary testifies then. */
  #saw(look: Look, isOther: boolean): void {
    if (isOther && look.reach !== 'answers') for (const watcher of this.#watchers) this.#watches.lookNow(watcher)
    this.#planned ??= this.#ports.world.timers.after(judgePauseMs, () => {
      this.#planned = undefined
      this.#judge()
    })
  }

  #judge(): Judgement {
    const { world, log, keep } = this.#ports
    const nowMs = world.clock.monotonicMs()
    const before = this.#judgement?.primary ?? null
    const looks = promotedLooks(this.looks, this.#notes, world.clock.wallMs())
    const judgement = judge({ adoption: this.adoption, looks, before, nowMs })
    this.#judgement = judgement
    if (judgement.sentence.news !== this.#news)
      log[judgement.kind === 'serving' ? 'info' : 'warn'](`${this.adoption.cluster}: ${String(judgement.sentence)}`)
    this.#news = judgement.sentence.news
    if (this.#episodes.note(judgement, { monotonicMs: nowMs, wallMs: world.clock.wallMs() })) keep(this.#episodes.ended)
    this.#tellListeners()
    return judgement
  }

  #tellListeners(): void {
    if (this.#listeners.size === 0) return
    const view = this.view()
    const text = JSON.stringify(view)
    if (text === this.#lastView) return
    this.#lastView = text
    for (const listener of this.#listeners) listener({ type: 'state', view })
  }
}

/** Rules that hold for a while take the place of those of the file. */
function promotedLooks(looks: readonly Look[], notes: ClusterNotes, wallMs: number): readonly Look[] {
  const said = promotionsAt(notes, wallMs)
  return looks.map((look) => {
    const promotion = said[look.host.instance]?.promotion
    return promotion === undefined ? look : { ...look, host: { ...look.host, promotion } }
  })
}
