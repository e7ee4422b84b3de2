import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { Converger } from '../converge/converger.ts'
import { isLeaving } from '../instance/leaving.ts'
import { isDown } from '../ports/process.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/** What tells that this instance is to end, and is told that it has: the launcher of its pod. */
export interface TerminationPort {
  isTerminating(): Promise<boolean>
  quit(): Promise<void>
}

const lookMs = 200
/** An orderly stop of mysqld, before it is killed. */
const shutdownMs = 30_000

const sentences = {
  told: say`the pod was told to end: the instance hands over and stops`,
  leaves: say`a caller wants the instance to leave its cluster: the instance hands over and stops`,
  began: say`the pod stays: its container began again`,
  stays: say`the instance stays: its caller is gone, or wants it back`,
} as const

/**
 * Ends the instance when its pod is told to end, or a caller wants the instance to leave its cluster. The observation
 * says so, and the manager moves the primary elsewhere and takes a replica out of the sync set, or a member out of its
 * group. Then mysqld stops: in order, or killed where a stop in order would acknowledge what waits (docs/why/safety.md,
 * "A stop nobody ordered"), as its mode says. Where the pod ends nothing depends on the manager: what was not done in
 * time was only courtesy to clients. An instance that leaves for a caller has time: a primary does not stop for that,
 * nor a replica that counts.
 */
export class Termination implements Watch {
  readonly name = 'whether the instance is to end'
  readonly failure = { code: 'Terminating', sentence: say`this instance could not be ended` }
  readonly #parts: Parts
  readonly #converger: Converger
  readonly #port: TerminationPort | null
  #isWatched = false
  /** Its pod was told to end. */
  #isTold = false
  #isOver = false
  /** When its server was told to stop in order. */
  #stoppingSinceMs = 0

  /** @param port null where nobody ends the pod */
  constructor(parts: Parts, converger: Converger, port: TerminationPort | null) {
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
    const wasTold = this.#isTold
    // Told now what left before, or its container began again.
    if (isTold !== wasTold) this.#isOver = false
    this.#isTold = isTold
    const isAsked = isTold || isLeaving(this.#parts)
    if (isAsked === (pod.termination !== null)) return
    const sinceMs = world.clock.monotonicMs()
    learn(this.#parts, isAsked ? { fact: 'endBegan', sinceMs } : { fact: 'endTakenBack' })
    this.#isOver = false
    notices.add('Terminating', isAsked ? sentences[isTold ? 'told' : 'leaves'] : sentences[wasTold ? 'began' : 'stays'])
    changed()
    this.#converger.wake()
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
    learn(this.#parts, { fact: 'left', hasLeft: !this.#isTold })
    if (mode.isKilledAtEnd()) await process.kill()
    else await this.#stopInOrder()
  }

  /** mysqld is down. A primary that died meanwhile does not leave: another one takes over, or it starts again. */
  async #ends(): Promise<void> {
    if (this.#isTold) await this.#port?.quit()
    else if (!isLeaving(this.#parts)) return
    learn(this.#parts, { fact: 'left', hasLeft: !this.#isTold })
    this.#isOver = true
  }

  #whyWaits(): Sentence | null {
    const { mode } = this.#converger
    if (this.#isTold) return mode.waitsToEnd(this.#waitedMs())
    return this.#parts.file.current.assignment?.role === 'primary'
      ? say`the instance leaves: it waits for another to take over`
      : mode.waitsToEnd(0)
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
