import { figure, say } from '#common/sentence/sentence.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type LeaseConfirmation, type LeaseVote } from '#failover/protocol/word.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import { closesWithinMs, silentPeersMs, unheardLeaderMs } from '#failover/protocol/timings.ts'
import type { Timer } from '#common/ports/ports.ts'
import { whyClosed } from '../instance/known.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { isDown } from '../ports/process.ts'
import { leads } from '../instance/stored-state.ts'

type LeaseParts = Learner &
  Pick<Parts, 'config' | 'file' | 'notices' | 'observer' | 'process' | 'timings' | 'transport' | 'world'>

/**
 * The primary's lease (docs/why/safety.md, "A manager outage alone stops nothing"): it stays writable while, within the
 * lease time, either a majority of the cluster's agents confirmed its epoch or the manager did. The agents are asked
 * first: what the manager confirms from is a record, and each record is a read of the store. Time is counted from when
 * it *asked*, on the monotonic clock. Run out, the primary fences itself.
 */
export class Lease {
  readonly #parts: LeaseParts
  readonly #wake: () => void
  #timer: Timer | null = null
  #question = 0
  /** The newest question that was shown to the manager. */
  #shown = 0
  /** When each question was asked; only those that may still be answered. */
  readonly #asked = new Map<number, number>()
  #heldUntilMs: number
  /** When the newest question was asked that a majority of agents confirmed; at first, when the epoch began. */
  #peersConfirmedMs: number
  #epoch = 0
  /** Somebody has confirmed this epoch: no agent that answers is so new any more that nobody has told it anything. */
  #isConfirmed = false
  #tickedAtMs: number
  /**
   * Time until which this agent asks and does not close. The agent stood still, and the lease may have run out
   * meanwhile. There is one such time between two confirmations.
   */
  #asksUntilMs: number | null = null

  constructor(parts: LeaseParts, wake: () => void) {
    this.#parts = parts
    this.#wake = wake
    this.#tickedAtMs = parts.world.clock.monotonicMs()
    this.#heldUntilMs = this.#tickedAtMs + parts.timings.leaseMs
    this.#peersConfirmedMs = this.#tickedAtMs
    const { assignment, leaseUntilMs = -Infinity } = parts.file.current
    // Another agent died before this agent began: the lease that this agent finds counts no longer for that. Its clock
    // counts from the same boot.
    if (this.#isFence && assignment?.role === 'primary') {
      this.#epoch = assignment.epoch
      this.#isConfirmed = true
      this.#heldUntilMs = Math.min(this.#heldUntilMs, leaseUntilMs)
    }
  }

  start(): void {
    const { world, timings } = this.#parts
    const everyMs = this.#isFence ? Math.min(closesWithinMs / 5, timings.leaseRenewMs / 3) : timings.leaseRenewMs / 3
    this.#timer = world.timers.every(everyMs, () => this.#tick())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** The open question for the manager; null where the peers confirm, and where no lease is needed. */
  get question(): { readonly question: number; readonly remainingMs: number } | null {
    const nowMs = this.#parts.world.clock.monotonicMs()
    if (!this.#isPrimary() || this.#question === 0 || !this.#needsManager(nowMs)) return null
    return { question: this.#question, remainingMs: this.#heldUntilMs - nowMs }
  }

  /**
   * A majority of agents is missing; or no manager has said for long that it leads, as one of the version before does
   * not: it says so only with a confirmation.
   */
  #needsManager(nowMs: number): boolean {
    const { timings, contact } = this.#parts
    return (
      nowMs - this.#peersConfirmedMs >= silentPeersMs(timings) ||
      nowMs - contact.managerHeardAtMs >= unheardLeaderMs(timings)
    )
  }

  confirmedByManager(confirmation: LeaseConfirmation): void {
    const { file } = this.#parts
    if (confirmation.epoch !== file.current.assignment?.epoch) return
    this.#granted(confirmation.question)
  }

  /**
   * Whether the lease alone keeps a primary that nobody hears from telling clients OK. A far server is kept by no
   * lease: where its agent is not heard, the agent does not reach that server either.
   */
  get #isFence(): boolean {
    return salvages(this.#parts.config) && this.#parts.config.far === undefined
  }

  #isPrimary(): boolean {
    return leads(this.#parts.file.current)
  }

  #tick(): void {
    const { world } = this.#parts
    const stoodStillMs = world.clock.monotonicMs() - this.#tickedAtMs
    this.#tickedAtMs += stoodStillMs
    // An instance that becomes primary again does so with another lease.
    if (!this.#isPrimary()) learn(this.#parts, { fact: 'closedFor', lease: null })
    else this.#renew(stoodStillMs)
  }

  #renew(stoodStillMs: number): void {
    const { world, timings, file } = this.#parts
    const nowMs = world.clock.monotonicMs()
    const epoch = file.current.assignment?.epoch ?? 0
    if (epoch !== this.#epoch) this.#begin(epoch, nowMs)
    const lastAsked = this.#asked.get(this.#question) ?? Number.NEGATIVE_INFINITY
    if (stoodStillMs >= timings.leaseRenewMs) this.#stoodStill(stoodStillMs, nowMs)
    if (nowMs - lastAsked >= timings.leaseRenewMs) this.#ask(nowMs)
    if (this.#needsManager(nowMs)) this.#askManager()
    if (nowMs > Math.max(this.#heldUntilMs, this.#asksUntilMs ?? 0)) this.#runOut()
  }

  /**
   * A machine that was paused (a live migration, a snapshot) wakes with a lease that ran out while nobody here could
   * ask. What the server did meanwhile it has done: a fence protects from nothing that it would not protect from a
   * moment later, and would end every session. So it asks first. Safe, since in semisync mode no safety rests on the
   * lease (docs/why/safety.md, "A pause"). In mode async it does: there it closes at once.
   */
  #stoodStill(stoodStillMs: number, nowMs: number): void {
    const { guards, notices, timings } = this.#parts
    if (this.#isFence) return
    if (nowMs <= this.#heldUntilMs || this.#asksUntilMs !== null || guards.closed.lease !== null) return
    this.#asksUntilMs = nowMs + timings.leaseAfterPauseMs
    const paused = say`this agent was paused for ${figure((stoodStillMs / 1_000).toFixed(1))} s`
    const what = say`the lease of epoch ${this.#epoch} ran out meanwhile: it asks for another one before it closes the primary`
    notices.add('AgentPaused', say`${paused}, and ${what}`)
  }

  /**
   * A new epoch begins with a full lease: it was just assigned. Where the lease is the fence that order may be late,
   * and another epoch begun meanwhile: then the agents must say soon that they know of none.
   */
  #begin(epoch: number, nowMs: number): void {
    this.#epoch = epoch
    this.#isConfirmed = false
    this.#heldUntilMs = nowMs + (this.#isFence ? closesWithinMs : this.#parts.timings.leaseMs)
    this.#peersConfirmedMs = nowMs
    this.#asksUntilMs = null
    this.#asked.clear()
  }

  #ask(nowMs: number): void {
    const question = this.#question + 1
    this.#question = question
    this.#asked.set(question, nowMs)
    for (const [old, atMs] of this.#asked) if (nowMs - atMs > this.#parts.timings.leaseMs) this.#asked.delete(old)
    void this.#askPeers(question)
  }

  /** The manager hears each question with an observation, and answers each once. */
  #askManager(): void {
    if (this.#shown === this.#question) return
    this.#shown = this.#question
    this.#wake()
  }

  async #askPeers(question: number): Promise<void> {
    const { file, transport, config, timings, world } = this.#parts
    const peers = file.current.assignment?.peers ?? []
    const request = { version: orderVersion, cluster: config.cluster, asking: config.instance, epoch: this.#epoch }
    let votes = 1
    const ask = async (instance: string, address: string): Promise<void> => {
      const vote = await sayWord({ transport, deadlineMs: timings.leaseRenewMs }, address, 'leaseVote', request)
      learn(this.#parts, { fact: 'peerHeard', peer: instance, atMs: world.clock.monotonicMs() })
      if (!vote.granted || this.#hasForgotten(vote)) return
      votes += 1
      if (votes * 2 > peers.length) this.#confirmedByPeers(question)
    }
    if (votes * 2 > peers.length) this.#confirmedByPeers(question)
    await Promise.allSettled(
      peers.filter(({ instance }) => instance !== config.instance).map(({ instance, agent }) => ask(instance, agent)),
    )
  }

  /**
   * An agent that has promised nothing is on another volume than the member that this primary counts on: that member
   * may have promised an epoch in which another instance leads by now. As an epoch begins agents may be new.
   */
  #hasForgotten({ promise }: LeaseVote): boolean {
    return this.#isFence && this.#isConfirmed && promise === 0
  }

  #confirmedByPeers(question: number): void {
    this.#peersConfirmedMs = Math.max(this.#peersConfirmedMs, this.#asked.get(question) ?? 0)
    this.#granted(question)
  }

  #granted(question: number): void {
    const askedAtMs = this.#asked.get(question)
    if (askedAtMs === undefined) return
    const { guards, timings, notices, file } = this.#parts
    this.#isConfirmed = true
    this.#heldUntilMs = Math.max(this.#heldUntilMs, askedAtMs + timings.leaseMs)
    if (this.#isFence) void this.#keep(file.update({ leaseUntilMs: this.#heldUntilMs }))
    this.#asksUntilMs = null
    if (guards.closed.lease !== null) {
      learn(this.#parts, { fact: 'closedFor', lease: null })
      const still = whyClosed(guards)
      const then = still === null ? say`the primary opens` : say`the primary stays closed: ${still}`
      notices.add('LeaseRegained', say`the lease is confirmed again; ${then}`)
      this.#wake()
    }
  }

  /** An end of the lease that is not stored only makes the lease of the next agent shorter. */
  async #keep(kept: Promise<unknown>): Promise<void> {
    await kept.catch((error: unknown) =>
      this.#parts.notices.failed('LeaseNotKept', say`the end of the lease could not be stored`, error),
    )
  }

  /** Fences itself: sessions that wait for an acknowledgement are killed with their server, never drained. */
  #runOut(): void {
    const { guards, notices, observer, process } = this.#parts
    if (guards.closed.lease !== null) return
    learn(this.#parts, { fact: 'closedFor', lease: leaseLost })
    notices.add(
      'LeaseLost',
      say`neither the manager nor a majority of agents confirmed epoch ${this.#epoch} in time: this primary closes itself`,
    )
    const waiting = observer.server?.semiSyncSource.waiting ?? 0
    // Nothing waits in mode async, and it may take too long to close what is busy: recovery gives everything back. A
    // server that is stopped (SIGSTOP) would go on some day as it was.
    if ((waiting > 0 || this.#isFence) && !isDown(process))
      process.kill().catch((error: unknown) => notices.failed('LeaseLost', say`mysqld could not be killed`, error))
    this.#wake()
  }
}

/** Why a primary without its lease is closed. */
export const leaseLost = say`the lease ran out`
