import { closeSync, openSync, readSync } from 'node:fs'
import type { Timer, Timers } from '../src/common/ports.ts'
import { parseProcessStat, unlessGone, type ProcessIdentity, type ProcessStat } from '../src/common/process-stat.ts'
import { phaseOf, type ProcessPhase } from './process-phase.ts'

/**
 * Watches one process by its state in the kernel: it shows a SIGKILL before any socket closes, and a SIGSTOP, which closes none. One file stays open and is read
 * again each time; it belongs to that very process, so a reused pid is never believed.
 */
export class ProcessWatch {
  readonly identity: ProcessIdentity
  readonly #changed: (phase: ProcessPhase) => void
  readonly #buffer = Buffer.alloc(1_024)
  #file: number | null
  #timer: Timer | null
  #phase: ProcessPhase = 'running'

  /** Begins to look every `everyMs`; `changed` is called with each new phase, first of all with what it is when that is not `running`. */
  constructor(identity: ProcessIdentity, everyMs: number, timers: Timers, changed: (phase: ProcessPhase) => void) {
    this.identity = identity
    this.#changed = changed
    this.#file = unlessGone(() => openSync(`/proc/${identity.pid}/stat`, 'r')) ?? null
    this.#timer = timers.every(everyMs, () => this.look())
  }

  get phase(): ProcessPhase {
    return this.#phase
  }

  /** Looks now; not any more once it was stopped. */
  look(): void {
    if (this.#timer === null) return
    const phase = phaseOf(this.#read(), this.identity.startTicks)
    if (phase === this.#phase) return
    this.#phase = phase
    if (phase === 'dead') this.stop()
    this.#changed(phase)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }

  #read(): ProcessStat | undefined {
    const file = this.#file
    if (file === null) return undefined
    return unlessGone(() => parseProcessStat(this.#buffer.toString('latin1', 0, readSync(file, this.#buffer, 0, this.#buffer.length, 0))))
  }
}
