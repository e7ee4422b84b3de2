import { described } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import { Repeats, timesLeftOut } from '#common/log/repeats.ts'
import { say } from '#common/sentence/sentence.ts'
import { analyse } from '#failover/decide.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { Action, Analyses, Decision } from '#failover/protocol/decision.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import type { Answers, StoreQuestions } from '#failover/protocol/word.ts'
import { askAboutStore } from './ask-about-store.ts'
import { askAgents } from './ask-agents.ts'
import { AskDesk } from './ask-desk.ts'
import type { ClusterEvent } from './cluster-service.ts'
import { ClusterLoop, type LoopConfig, type LoopPorts } from '../loop/cluster-loop.ts'
import type { EndedRecovery } from '../loop/books/recovery-book.ts'
import { isEndedIn, isFiledIn } from '../loop/books/orphans.ts'
import { withHooksOf } from '../loop/hooks/hook-ledger.ts'
import { RepairBook } from '../loop/books/repair-book.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { clusterView, problemsIn, topologyView } from './cluster-views.ts'
import { ProblemBook } from './problem-book.ts'
import type { ManagerMetrics } from './metrics.ts'
import { Operations } from './operations/operations.ts'
import type { OrderOutcome } from '../loop/order-desk.ts'
import type { AgentView } from '#api-contract/agent-view.ts'
import type { ClusterView, RouterView, TopologyView } from '#api-contract/views.ts'

/** A view is sent to listeners at most this often. */
const viewPauseMs = 50
const problemsNotedEveryMs = 1_000

/** What another hand did is told for so long to those who ask why. */
const remarkedMs = 600_000

/** A listener beside log, metrics and streams. */
export interface Told {
  /** `isNews` where something is done, or where it differs from the decision before in more than figures. */
  decided(decision: Decision, analyses: () => Analyses, isNews: boolean): void
  recovered(recovery: Recovery): void
  /** A hook ended, or is not begun any more. */
  hookEnded(run: HookRun, recovery: Recovery): void
  /** Somebody asked for what is refused. */
  declined(sentence: string): void
}

export interface ClusterTools {
  readonly log: Logger
  readonly metrics: ManagerMetrics
  readonly name?: string
  readonly told?: Told
  /** Its router as it is now; undefined where there is none. */
  readonly router?: () => RouterView | undefined
}

/** A cluster with its loop, and its listeners: the log, the metrics, the API's streams, operations that wait. */
export class ManagedCluster {
  /** As the API names it. */
  readonly name: string
  readonly loop: ClusterLoop
  readonly operations: Operations
  /** Whether the resource asks for a pause now, whoever began the pause that there is. */
  isPausedByResource = false
  readonly #asks: AskDesk
  readonly #ports: LoopPorts
  readonly #log: Logger
  readonly #repeats: Repeats
  readonly #metrics: ManagerMetrics
  readonly #told: Told | undefined
  readonly #router: ClusterTools['router']
  readonly #problems = new ProblemBook()
  readonly #repairs: RepairBook
  readonly #listeners = new Set<(event: ClusterEvent) => void>()
  readonly #waiting = new Set<(recovery: EndedRecovery | undefined) => void>()
  #lastView = ''
  #lastNews = ''
  #viewPlanned = false
  #notedMs = -Infinity
  #remark: { readonly sentence: string; readonly atMs: number } | undefined

  constructor(ports: LoopPorts, config: LoopConfig, tools: ClusterTools) {
    this.name = tools.name ?? config.cluster
    this.#ports = ports
    this.#log = tools.log
    this.#repeats = new Repeats(ports.world.clock)
    this.#metrics = tools.metrics
    this.#told = tools.told
    this.#router = tools.router
    this.#repairs = new RepairBook(ports.world.random)
    this.loop = new ClusterLoop(ports, config, {
      decided: (decision, changed, input) => this.#decided(decision, changed, input),
      acted: (action) => this.#acted(action),
      answered: (outcome) => this.#answered(outcome),
      recovered: (recovery) => this.#recovered(recovery),
      hookEnded: (run, recovery) => this.#hookEnded(run, recovery),
      failed: (what, error) => this.#failed(what, error),
      ledNoMore: () => this.#endWaits(),
    })
    this.operations = new Operations({
      loop: this.loop,
      world: ports.world,
      platform: ports.platform,
      transport: ports.transport,
      hooks: ports.hooks,
      isPausedByResource: () => this.isPausedByResource,
      ended: (matches, timeoutMs) => this.#waitForRecovery(matches, timeoutMs),
      declined: (sentence) => this.#declined(sentence),
    })
    this.#asks = new AskDesk({
      operations: this.operations,
      transport: ports.transport,
      failed: (what, error) => this.#failed(what, error),
    })
  }

  view(): ClusterView {
    return { ...clusterView(this.loop.input(), this.loop.decision, this.#problems), name: this.name }
  }

  topology(): TopologyView {
    return { ...topologyView(this.loop.input(), this.loop.decision, this.#problems), ...this.routerField }
  }

  get routerField(): { readonly router?: RouterView } {
    const router = this.#router?.()
    return router === undefined ? {} : { router }
  }

  agents(): Promise<readonly AgentView[]> {
    const { cluster, snapshot } = this.loop.input()
    return askAgents(this.#ports.transport, cluster, snapshot.instances)
  }

  askAboutStore<N extends keyof StoreQuestions>(question: N, asked: StoreQuestions[N]): Promise<Answers[N]> {
    return askAboutStore(this.#ports.transport, this.loop.input(), question, asked)
  }

  /**
   * Something of what this cluster publishes may have been changed by another hand: record and route are read again,
   * and put right.
   */
  async lookAgain(): Promise<void> {
    if (!this.loop.leads) return
    const failed = (error: unknown): void =>
      this.#failed(`reading the record of ${this.name} and what is published`, error)
    await this.loop.reread().catch(failed)
  }

  /** Tells in the log, and for a while to those who ask why, what another hand did. */
  remark(sentence: string): void {
    const leftOut = this.#repeats.toTell(sentence)
    if (leftOut !== null) this.#log.warn(`${sentence}${timesLeftOut(leftOut)}`)
    this.#remark = { sentence, atMs: this.#ports.world.clock.monotonicMs() }
  }

  get remarks(): readonly string[] {
    if (this.#remark === undefined) return []
    const { sentence, atMs } = this.#remark
    const agoMs = this.#ports.world.clock.monotonicMs() - atMs
    return agoMs > remarkedMs ? [] : [`${Math.round(agoMs / 1_000)} s ago: ${sentence}`]
  }

  subscribe(listener: (event: ClusterEvent) => void): () => void {
    this.#listeners.add(listener)
    // A new listener knows the present view, and perhaps not the one that was told last.
    this.#lastView = ''
    return () => this.#listeners.delete(listener)
  }

  /** Tells listeners that nothing more comes: another cluster may take the place of this one. */
  tellGone(): void {
    for (const listener of this.#listeners) listener({ type: 'gone' })
  }

  #decided(decision: Decision, changed: boolean, input: DecisionInput): void {
    const differs = changed && decision.news !== this.#lastNews
    if (differs) this.#log[decision.blocked ? 'warn' : 'info']({ reasons: decision.reasons }, decision.sentence)
    this.#lastNews = decision.news
    this.#told?.decided(decision, () => analyse(input), differs || decision.actions.length > 0)
    if (this.loop.leads) this.#asks.look(input)
    this.#planView()
    if (decision.flow === null) this.#noteProblems(input, decision)
    if (this.loop.leads) this.#keepRepairs(input, decision)
  }

  /** A repair that begins is filed, too: this manager may not see the end. */
  #keepRepairs(input: DecisionInput, decision: Decision): void {
    for (const repair of this.#repairs.keep(input, decision)) this.#repaired(repair)
    for (const open of this.#running) if (!isFiledIn(this.loop.notes, open)) this.loop.file(open)
  }

  #repaired(repair: Recovery): void {
    this.loop.file(repair)
    this.#metrics.recovered(this.name, repair)
    this.#log.info(
      { recovery: repair },
      `repair of ${repair.from === null ? 'an instance' : instanceOf(repair.from)} ended: ${repair.sentence}`,
    )
    this.#told?.recovered(repair)
  }

  /** Recoveries and repairs, the newest first, those that go on before all others. */
  get recoveries(): readonly Recovery[] {
    const { notes, decision } = this.loop
    // A manager that decides nothing knows what is in the notes.
    const open = decision === null ? [] : this.#running.filter((one) => !isEndedIn(notes, one))
    const running = open.map((one) => withHooksOf(notes, one))
    const shown = new Set(running.map(({ id }) => id))
    return [...running, ...notes.recoveries.filter(({ id }) => !shown.has(id))]
  }

  get #running(): readonly Recovery[] {
    const { recovery } = this.loop
    return [...(recovery === null ? [] : [recovery]), ...this.#repairs.running]
  }

  /** Since when something is wrong is asked later, and perhaps by the first who looks. */
  #noteProblems(input: DecisionInput, decision: Decision): void {
    const nowMs = this.#ports.world.clock.monotonicMs()
    if (nowMs < this.#notedMs + problemsNotedEveryMs) return
    this.#notedMs = nowMs
    this.#problems.note(problemsIn(input, decision), input.wallMs)
  }

  #acted(action: Action): void {
    this.#metrics.decided(this.name, action.kind)
    this.#log.debug({ action: action.kind, to: 'to' in action ? action.to : undefined }, 'acted')
  }

  #answered({ action, ms, error, code }: OrderOutcome): void {
    this.#metrics.agentAnswered(action.kind, ms)
    const what = `${action.kind} of ${action.to}`
    const leftOut = code === null ? null : this.#repeats.toTell(`${what}: ${code}`)
    if (leftOut !== null) this.#log.warn(`${what}: ${error}${timesLeftOut(leftOut)}`)
  }

  #failed(what: string, error: unknown): void {
    const leftOut = this.#repeats.toTell(say`${what}: ${described(error)}`.news)
    if (leftOut !== null) this.#log.warn({ err: error }, `${what} failed${timesLeftOut(leftOut)}`)
  }

  #recovered(recovery: EndedRecovery): void {
    this.#metrics.recovered(this.name, recovery)
    const lasted = recovery.timeline.at(-1)?.atMs
    if (recovery.outcome === 'succeeded') this.#metrics.outage(this.name, recovery.kind, recovery.outageMs)
    this.#log.info({ recovery }, `${recovery.kind} ${recovery.outcome} after ${lasted ?? 0} ms: ${recovery.sentence}`)
    this.#told?.recovered(recovery)
    for (const waiting of this.#waiting) waiting(recovery)
  }

  #hookEnded(run: HookRun, recovery: Recovery): void {
    const { hook, moment, state, ms, said } = run
    this.#metrics.hookEnded(this.name, run)
    this.#log[state === 'succeeded' ? 'info' : 'warn'](
      { recovery: recovery.id },
      `hook ${hook} of ${moment} ${state}${ms === null ? '' : ` after ${ms} ms`}: ${said}`,
    )
    this.#told?.hookEnded(run, recovery)
  }

  #declined(sentence: string): void {
    this.#log.warn(sentence)
    this.#told?.declined(sentence)
  }

  #waitForRecovery(
    matches: (recovery: EndedRecovery) => boolean,
    timeoutMs: number,
  ): Promise<EndedRecovery | undefined> {
    return new Promise((resolve) => {
      const end = (recovery: EndedRecovery | undefined): void => {
        this.#waiting.delete(waiting)
        timer.cancel()
        resolve(recovery)
      }
      const waiting = (recovery: EndedRecovery | undefined): void => {
        if (recovery === undefined || matches(recovery)) end(recovery)
      }
      const timer = this.#ports.world.timers.after(timeoutMs, () => end(undefined))
      this.#waiting.add(waiting)
    })
  }

  /** Nothing that was asked for is done later, should this manager lead again: by then it may be wrong. */
  #endWaits(): void {
    for (const waiting of this.#waiting) waiting(undefined)
  }

  #planView(): void {
    if (this.#viewPlanned || this.#listeners.size === 0) return
    this.#viewPlanned = true
    this.#ports.world.timers.after(viewPauseMs, () => {
      this.#viewPlanned = false
      const view = this.view()
      const text = JSON.stringify(view)
      if (text === this.#lastView) return
      this.#lastView = text
      for (const listener of this.#listeners) listener({ type: 'state', view })
    })
  }
}
