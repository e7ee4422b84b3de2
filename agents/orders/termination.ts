import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { Converger } from '../converge/converger.ts'
import { isLeaving, isRestarting } from '../instance/leaving.ts'
import { isDown } from '../ports/process.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/** What tells that this instance is to end, and is told that it has: the launcher of its pod. */
export interface TerminationPort {
  isTerminating(): Promise<boolean>
  quit(): Promise<void>
}

const lookMs = 200
/** An orderly stop of mysqld, before it is killed. */
const shutdownMs = 30_000

/** Why an instance ends: its pod was told to, a caller wants it to leave its cluster, or a person wants a restart. */
type Reason = 'told' | 'leaves' | 'restarts'

const ends: Readonly<Record<Reason, Sentence>> = {
  told: say`the pod was told to end: the instance hands over and stops`,
  leaves: say`a caller wants the instance to leave its cluster: the instance hands over and stops`,
  restarts: say`a person wants mysqld restarted: the instance hands over and stops`,
}
const stays: Readonly<Record<Reason, Sentence>> = {
  told: say`the pod stays: its container began again`,
  leaves: say`the instance stays: its caller is gone, or wants it back`,
  restarts: say`mysqld has stopped, and starts again`,
}

type TerminationParts = Learner &
  Pick<Parts, 'changed' | 'file' | 'notices' | 'process' | 'server' | 'volume' | 'world'>

/**
 * Ends the instance when its pod is told to end, or a caller wants the instance to leave its cluster. The observation
 * says so, and the manager moves the primary elsewhere and takes a replica out of the sync set, or a member out of its
 * group. Then mysqld stops: in order, or killed where a stop in order would acknowledge what waits (docs/why/safety.md,
 * "A stop nobody ordered"), as its mode says. Where the pod ends nothing depends on the manager: what was not done in
 * time was only courtesy to clients. An instance that leaves for a caller, or restarts for a person, has time: neither
 * a primary nor a replica that counts stops for that.
 */
export class Termination implements Watch {
  readonly name = 'whether the instance is to end'
  readonly failure = { code: 'Terminating', sentence: say`this instance could not be ended` }
  readonly #parts: TerminationParts
  readonly #converger: Converger
  readonly #port: TerminationPort | null
  #isWatched = false
  /** Its pod was told to end. */
  #isTold = false
  /** Why it ends now; null where it stays. */
  #reason: Reason | null = null
  #isOver = false
  /** When its server was told to stop in order. */
  #stoppingSinceMs = 0

  /** @param port null where nobody ends the pod */
  constructor(parts: TerminationParts, converger: Converger, port: TerminationPort | null) {
    this.#parts = parts
    this.#converger = converger
    this.#port = port
  }

  start(watches: Watches): void {
    if (this.#port !== null) this.watch(watches)
  }

  /** Looks from now on: somebody may want this instance to leave. */
  watch(watches: Watches): void {
    if (this.#isWatched) return
    this.#isWatched = true
    watches.every(lookMs, [this])
  }

  async look(): Promise<void> {
    await this.#notice()
    if (this.#parts.pod.termination !== null && !this.#isOver) await this.#converger.alone(() => this.#proceed())
  }

  async #notice(): Promise<void> {
    const { pod, notices, world, changed } = this.#parts
    const isTold = (await this.#port?.isTerminating()) ?? false
    // Told now what left before, or its container began again.
    if (isTold !== this.#isTold) this.#isOver = false
    this.#isTold = isTold
    const reason = this.#reasonNow()
    if ((reason !== null) === (pod.termination !== null)) {
      this.#reason = reason
      return
    }
    const sinceMs = world.clock.monotonicMs()
    const sentence = reason === null ? this.#whyItStays() : ends[reason]
    learn(this.#parts, reason === null ? { fact: 'endTakenBack' } : { fact: 'endBegan', sinceMs })
    this.#isOver = false
    this.#reason = reason
    notices.add('Terminating', sentence)
    changed()
    this.#converger.wake()
  }

  #reasonNow(): Reason | null {
    if (this.#isTold) return 'told'
    if (isLeaving(this.#parts)) return 'leaves'
    return isRestarting(this.#parts) ? 'restarts' : null
  }

  /** A wish for a restart that ran out has nothing to do with the next one. */
  #whyItStays(): Sentence {
    if (this.#reason !== 'restarts') return stays[this.#reason ?? 'leaves']
    if (this.#parts.pod.restartsUntilMs === null) return stays.restarts
    learn(this.#parts, { fact: 'restartOver' })
    return say`mysqld is not restarted, for its time is over: ${this.#whyWaits() ?? say`the instance was to stop just now`}`
  }

  async #proceed(): Promise<void> {
    const { process, changed, pod } = this.#parts
    const { mode } = this.#converger
    if (isDown(process)) return this.#ends()
    // Also where mysqld starts or stands still: it may be the only one who can lead.
    const waits = pod.termination?.stopping === true ? null : this.#whyWaits()
    if (waits !== null) {
      learn(this.#parts, { fact: 'converged', sentence: waits })
      return changed()
    }
    if (this.#reason !== 'restarts') learn(this.#parts, { fact: 'left', hasLeft: this.#reason === 'leaves' })
    if (mode.isKilledAtEnd()) await process.kill()
    else await this.#stopInOrder()
  }

  /** mysqld is down. A primary that died meanwhile does not leave: another one takes over, or it starts again. */
  async #ends(): Promise<void> {
    if (this.#reason === 'restarts') return learn(this.#parts, { fact: 'restartOver' })
    if (this.#isTold) await this.#port?.quit()
    else if (!isLeaving(this.#parts)) return
    learn(this.#parts, { fact: 'left', hasLeft: !this.#isTold })
    this.#isOver = true
  }

  #whyWaits(): Sentence | null {
    const { mode } = this.#converger
    if (this.#isTold) return mode.waitsToEnd(this.#waitedMs())
    if (this.#parts.file.current.assignment?.role === 'primary')
      return say`mysqld stops once another instance is primary`
    return mode.waitsToEnd(0)
  }

  #waitedMs(): number {
    const { pod, world } = this.#parts
    return world.clock.monotonicMs() - (pod.termination?.sinceMs ?? 0)
  }

  /** What it acknowledged is on disk before its server goes, so that it is not forgetful when it comes back. */
  async #stopInOrder(): Promise<void> {
    const { file, process, server, volume, pod, world } = this.#parts
    if (pod.termination?.stopping) {
      if (world.clock.monotonicMs() - this.#stoppingSinceMs > shutdownMs) await process.kill()
      return
    }
    if (process.state !== 'running') return process.kill()
    await this.#converger.mode.leave()
    await volume.syncRelayLogs()
    await file.update({ stoppedInOrder: true })
    learn(this.#parts, { fact: 'serverStops' })
    this.#stoppingSinceMs = world.clock.monotonicMs()
    await server.shutdown()
  }
}
