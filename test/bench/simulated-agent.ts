import { createAgentServer, type AgentHandlers, type StreamListener } from '#agents/http.ts'
import { readOrder, readWord } from '#agents/orders/wire.ts'
import { checkOrder } from '#agents/orders/obedience.ts'
import { freshState, newIncarnation, notedNow, summaryOf, type StoredState } from '#agents/instance/stored-state.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { type Endpoint, orderVersion } from '#failover/protocol/message.ts'
import { type Order, type OrderName, type PromiseOrder, orders } from '#failover/protocol/order.ts'
import { type LeaseVote, type LeaseVoteRequest, words } from '#failover/protocol/word.ts'
import { defaultTimings, silentPeersMs } from '#failover/protocol/timings.ts'
import { createHttpTransport, type HttpTransport } from '#common/http/http-transport.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { ownTlsName } from '#common/tls/tls-names.ts'
import { HeldCertificates, type TlsMaterial } from '#common/tls/tls.ts'
import { memberId } from '#topology/snapshot/member.ts'
import type { Observation, PromiseReport } from '#topology/snapshot/observation.ts'
import { aDumpThreadOf, anObservation, gtids, type ServerOverrides } from '#topology/testing.ts'
import { monotonicMs } from '../support/monotonic.ts'

export interface SimulatedInstance {
  readonly cluster: string
  readonly instance: string
  readonly host: string
  readonly port: number
  readonly token: string
  readonly certificates: TlsMaterial
}

const { observeMs, heartbeatMs, leaseRenewMs, leaseMs } = defaultTimings
/** Whoever was made first has written them; all servers hold them. */
const holds = gtids('any-0', 100)

/**
 * An agent without a server: it speaks as agents do, over mutual TLS and as often, checks orders as they do, and is at
 * once what it is told to be. What the manager has to do for it is all that is real.
 */
export class SimulatedAgent implements AgentHandlers {
  readonly orders: AgentHandlers['orders']
  /**
   * How long each question of a primary waited for its confirmation, by a majority of agents or by a manager; Infinity
   * for one that had none when the next was asked.
   */
  readonly leaseMs: number[] = []
  readonly #own: SimulatedInstance
  readonly #listener: ReturnType<typeof createAgentServer>
  readonly #listeners = new Set<StreamListener>()
  readonly #transport: HttpTransport
  readonly #timers: NodeJS.Timeout[] = []
  readonly #run = realRandom.hex(16)
  readonly #firstIncarnation = realRandom.hex(16)
  #stored: StoredState
  #sequence = 0
  #alive = true
  #changedAtMs = monotonicMs()
  #report: PromiseReport | null = null
  #question = { number: 0, askedMs: 0, answered: true }
  #peersConfirmedMs = monotonicMs()

  constructor(own: SimulatedInstance) {
    this.#own = own
    this.#stored = { ...freshState(realRandom.hex(12), 'boot'), incarnation: this.#firstIncarnation }
    this.orders = new Map<string, (body: unknown) => Promise<unknown>>([
      [orders.assign.route, this.#order('assign', (order) => this.#assigned(order))],
      [orders.promise.route, this.#order('promise', (order) => this.#promised(order))],
      [words.lease.route, async (body) => (this.#confirmed(readWord('lease', body).question), {})],
      [words.word.route, async () => ({})],
      [words.leaseVote.route, async (body) => this.#vote(readWord('leaseVote', body))],
    ])
    const certificates = new HeldCertificates()
    certificates.put(own.certificates, own.instance)
    this.#listener = createAgentServer(this, { token: own.token, certificates })
    this.#transport = createHttpTransport({
      token: own.token,
      tls: { certificates, servername: ownTlsName(own.certificates) },
    })
  }

  /** Agents do not all start in the same moment, and neither do these. */
  async start(): Promise<void> {
    const { host, port } = this.#own
    await new Promise<void>((resolve, reject) => this.#listener.once('error', reject).listen(port, host, resolve))
    const every = (ms: number, task: () => void) =>
      this.#timers.push(setTimeout(() => this.#timers.push(setInterval(task, ms)), Math.random() * ms))
    every(observeMs, () => this.#publish())
    every(heartbeatMs, () => this.#listeners.forEach((listener) => listener(null)))
    every(leaseRenewMs, () => void this.#ask())
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#transport.close()
    this.#listener.closeAllConnections()
    this.#listener.close()
  }

  /** Its mysqld ends. */
  kill(): void {
    this.#lives(false)
    this.#publish()
  }

  isPrimary(): boolean {
    const { assignment, promise } = this.#stored
    return this.#alive && assignment?.role === 'primary' && assignment.epoch === promise
  }

  observation(): Observation {
    const { cluster, instance } = this.#own
    const { assignment, volume } = this.#stored
    const revision = this.#alive ? (assignment?.revision ?? 0) : 0
    const isOpen = this.isPrimary()
    const observation = anObservation({
      cluster,
      instance,
      follows: sourceOf(assignment)?.instance ?? null,
      member: memberId(instance, volume),
      agentRun: this.#run,
      sequence: ++this.#sequence,
      process: this.#alive ? 'running' : 'dead',
      processSinceMs: monotonicMs() - this.#changedAtMs,
      server: this.#alive ? this.#server(assignment, isOpen) : null,
      stored: summaryOf(this.#stored),
      promiseReport: this.#report,
      converged: { revision, done: revision > 0, sentence: 'as assigned' },
      markedRevision: isOpen ? revision : 0,
      lease: this.#lease(isOpen),
    })
    return { ...observation, takesWord: true, heardForgetful: {} }
  }

  #lease(isOpen: boolean): Observation['lease'] {
    const asksManager = isOpen && monotonicMs() - this.#peersConfirmedMs >= silentPeersMs(defaultTimings)
    return asksManager ? { question: this.#question.number, remainingMs: leaseMs } : null
  }

  /** Connected at once to whom it follows, unless it promised not to or is to wait. */
  #server(assignment: Assignment | null, isOpen: boolean): ServerOverrides {
    const source = sourceOf(assignment)
    const follows = this.#report === null && assignment?.role === 'replica' && assignment.sourceReady !== false
    const served = assignment?.role === 'primary' ? [...assignment.counted, ...assignment.catchingUp] : []
    return {
      readOnly: !isOpen,
      superReadOnly: !isOpen,
      executed: holds,
      received: source === null ? '' : holds,
      channel: source === null ? null : { sourceHost: source.host, ioRunning: follows ? 'yes' : 'no' },
      semiSyncSource: { enabled: isOpen },
      openGates: served,
      passwords: ['admin', 'client'].map((user) => ({ user, generation: '', keepsOld: false })),
      dumpThreads: served.map((replica) => aDumpThreadOf(replica)),
    }
  }

  subscribe(listener: StreamListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  isLive(): boolean {
    return true
  }

  isReady(): boolean {
    return this.#alive
  }

  metrics(): string {
    return ''
  }

  #order<N extends OrderName>(name: N, act: (order: Order<N>) => void) {
    return async (body: unknown): Promise<unknown> => {
      const order = readOrder(name, body)
      const { cluster, instance } = this.#own
      checkOrder(name, order, {
        cluster,
        instance,
        run: this.#run,
        stored: this.#stored,
        process: this.#alive ? 'running' : 'dead',
        promiseReport: this.#report,
        holds,
        whyNotSeeded: null,
      })
      act(order)
      this.#publish()
      return { observation: this.observation(), steps: [] }
    }
  }

  #promised({ epoch, revision }: PromiseOrder): void {
    if (epoch > this.#stored.promise)
      this.#stored = { ...this.#stored, promise: epoch, ...newIncarnation(this.#stored, realRandom.hex(16)) }
    this.#stored = { ...this.#stored, revision: Math.max(this.#stored.revision, revision) }
    this.#report = { epoch, holds, executed: holds, asPrimary: this.#stored.assignment?.role === 'primary' }
  }

  /**
   * A server that died is started again as a replica. Who orders has noted this start: without that being shown the
   * order would come again and again.
   */
  #assigned(assignment: Assignment): void {
    if (!this.isPrimary()) this.#peersConfirmedMs = monotonicMs()
    const promise = Math.max(this.#stored.promise, assignment.epoch)
    if (promise > this.#stored.promise)
      this.#stored = { ...this.#stored, ...newIncarnation(this.#stored, realRandom.hex(16)) }
    this.#stored = {
      ...this.#stored,
      promise,
      revision: assignment.revision,
      assignment,
      ...notedNow(this.#stored, this.#firstIncarnation),
    }
    this.#report = null
    if (!this.#alive) this.#lives(true)
  }

  /** As a primary does (`agents/guard/lease.ts`): its peers first. */
  async #ask(): Promise<void> {
    const { assignment, promise: epoch } = this.#stored
    if (!this.isPrimary() || assignment === null) return
    const { cluster, instance } = this.#own
    const askedMs = monotonicMs()
    const number = this.#question.number + 1
    if (!this.#question.answered) this.leaseMs.push(Infinity)
    this.#question = { number, askedMs, answered: false }
    const request: LeaseVoteRequest = { version: orderVersion, cluster, asking: instance, epoch }
    let votes = 1
    const askPeer = async ({ agent }: Endpoint): Promise<void> => {
      const vote = (await this.#transport.post(agent, words.leaseVote.route, request, leaseRenewMs)) as LeaseVote
      if (vote.granted) votes += 1
      if (votes * 2 <= assignment.peers.length) return
      this.#peersConfirmedMs = Math.max(this.#peersConfirmedMs, askedMs)
      this.#confirmed(number)
    }
    await Promise.allSettled(assignment.peers.filter((peer) => peer.instance !== instance).map(askPeer))
    if (!this.#question.answered) this.#publish()
  }

  #vote({ epoch }: LeaseVoteRequest): LeaseVote {
    const { promise } = this.#stored
    return { granted: promise <= epoch, promise, executed: holds }
  }

  #confirmed(question: number): void {
    if (question !== this.#question.number || this.#question.answered) return
    this.#question = { ...this.#question, answered: true }
    this.leaseMs.push(monotonicMs() - this.#question.askedMs)
  }

  #lives(alive: boolean): void {
    this.#alive = alive
    this.#changedAtMs = monotonicMs()
    this.#question = { ...this.#question, answered: true }
  }

  #publish(): void {
    const observation = this.observation()
    for (const listener of this.#listeners) listener(observation)
  }
}

function sourceOf(assignment: Assignment | null): Endpoint | null {
  return assignment?.role === 'replica' ? assignment.source : null
}
