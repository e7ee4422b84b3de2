import { describeError } from '../../src/common/errors/errors.ts'
import type { Timer } from '../../src/common/ports/ports.ts'
import type { Converger } from '../converge/converger.ts'
import type { Parts } from '../instance/parts.ts'

/** What tells that this instance is to end, and is told that it has: the launcher of its pod. */
export interface TerminationPort {
  isTerminating(): Promise<boolean>
  quit(): Promise<void>
}

const lookMs = 200
/** An orderly stop of mysqld, before it is killed. */
const shutdownMs = 30_000

/**
 * Ends the instance when its pod is told to end. The observation says so, and the manager moves the primary elsewhere
 * and takes a replica out of the sync set, or a member out of its group. Then mysqld stops: in order, or killed where a
 * stop in order would acknowledge what waits (docs/why/safety.md, "A stop nobody ordered"), as its mode says. Nothing
 * depends on the manager: what it has not done in time was only courtesy to clients.
 */
export class Termination {
  readonly #parts: Parts
  readonly #converger: Converger
  readonly #port: TerminationPort
  #timer: Timer | null = null
  #busy = false
  #hasQuit = false
  /** When its server was told to stop in order. */
  #stoppingSinceMs = 0

  constructor(parts: Parts, converger: Converger, port: TerminationPort) {
    this.#parts = parts
    this.#converger = converger
    this.#port = port
  }

  start(): void {
    this.#timer = this.#parts.world.timers.every(lookMs, () => void this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      await this.#notice()
      if (this.#parts.pod.termination !== null && !this.#hasQuit) await this.#converger.alone(() => this.#proceed())
    } catch (error) {
      this.#parts.notices.add('Terminating', `ending this instance: ${describeError(error)}`)
    } finally {
      this.#busy = false
    }
  }

  async #notice(): Promise<void> {
    const { pod, notices, world, changed } = this.#parts
    const isAsked = await this.#port.isTerminating()
    if (isAsked === (pod.termination !== null)) return
    pod.termination = isAsked ? { sinceMs: world.clock.monotonicMs(), stopping: false } : null
    // Only its container was told to end, and another one has begun.
    this.#hasQuit = false
    notices.add(
      'Terminating',
      isAsked
        ? 'the pod was told to end: the instance hands over and stops'
        : 'the pod stays: its container began again',
    )
    changed()
    this.#converger.wake()
  }

  async #proceed(): Promise<void> {
    const { process, course, changed, pod } = this.#parts
    const { mode } = this.#converger
    if (process.state === 'dead' || process.state === 'absent') {
      await this.#port.quit()
      this.#hasQuit = true
      return
    }
    const isUp = process.state === 'running' && pod.termination?.stopping === false
    const waits = isUp ? mode.waitsToEnd(this.#waitedMs()) : null
    if (waits !== null) {
      course.converged = { ...course.converged, sentence: waits }
      return changed()
    }
    if (mode.isKilledAtEnd()) await process.kill()
    else await this.#stopInOrder()
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
    pod.termination = { sinceMs: pod.termination?.sinceMs ?? 0, stopping: true }
    this.#stoppingSinceMs = world.clock.monotonicMs()
    await server.shutdown()
  }
}
