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
/**
 * A primary waits so long for the manager to hand it over, and a counted replica to be let out of the sync set. Well
 * within a pod's grace.
 */
const handOverMs = 60_000
const leaveMs = 5_000
/** With nobody connected who could take over, a primary waits only for this long. */
const aloneMs = 5_000
/** An orderly stop of mysqld, before it is killed. */
const shutdownMs = 30_000

/**
 * Ends the instance when its pod is told to end. The observation says so, and the manager moves the primary elsewhere
 * and takes a replica out of the sync set; then mysqld stops, in order where it is a replica, killed where it is still
 * primary (docs/why/safety.md, "A stop nobody ordered"). Nothing depends on the manager: what it has not done in time
 * was only courtesy to clients.
 */
export class Termination {
  readonly #parts: Parts
  readonly #converger: Converger
  readonly #port: TerminationPort
  #timer: Timer | null = null
  #busy = false
  #hasQuit = false

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
    const { process, course, changed } = this.#parts
    if (process.state === 'dead' || process.state === 'absent') {
      await this.#port.quit()
      this.#hasQuit = true
      return
    }
    const waits = this.#whatIsWaitedFor()
    if (waits !== null) {
      course.converged = { ...course.converged, sentence: waits }
      return changed()
    }
    if (this.#parts.file.current.assignment?.role === 'primary') await process.kill()
    else await this.#stopReplica()
  }

  #whatIsWaitedFor(): string | null {
    const { file, process } = this.#parts
    const { assignment } = file.current
    if (process.state !== 'running' || assignment === null) return null
    if (assignment.role === 'primary')
      return assignment.acks > 0 && this.#waitedMs() < this.#successorMs()
        ? 'the pod ends: it waits for another to take over'
        : null
    return assignment.counted && this.#waitedMs() < leaveMs
      ? 'the pod ends: it waits to be let out of the sync set'
      : null
  }

  #successorMs(): number {
    const { server } = this.#parts.observer
    return server?.dumpThreads.some(({ semiSync }) => semiSync) ? handOverMs : aloneMs
  }

  #waitedMs(): number {
    const { pod, world } = this.#parts
    return world.clock.monotonicMs() - (pod.termination?.sinceMs ?? 0)
  }

  /** What it acknowledged is on disk before its server goes, so that it is not forgetful when it comes back. */
  async #stopReplica(): Promise<void> {
    const { file, process, server, volume, pod } = this.#parts
    if (pod.termination?.stopping) {
      if (this.#waitedMs() > leaveMs + shutdownMs) await process.kill()
      return
    }
    if (process.state !== 'running') return process.kill()
    await server.stopReceiver()
    await volume.syncRelayLogs()
    await file.update({ stoppedInOrder: true })
    pod.termination = { sinceMs: pod.termination?.sinceMs ?? 0, stopping: true }
    await server.shutdown()
  }
}
