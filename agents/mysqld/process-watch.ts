import { closeSync, openSync, readSync } from 'node:fs'
import type { Timer, Timers } from '#common/ports/ports.ts'
import {
  hasOnlyExitingThreads,
  parseProcessStat,
  unlessGone,
  type ProcessIdentity,
} from '#common/process/process-stat.ts'
import { phaseOf, type ProcessPhase } from './process-phase.ts'

/**
 * Watches one process by its state in the kernel: that state shows a SIGKILL before any socket closes, and a SIGSTOP,
 * which closes none. A file stays open and is read again each time; the file belongs to that very process, so a reused
 * pid is never believed. The file is that of the first thread, which says the same: for the whole process the kernel
 * would add up the times of all threads.
 */
export class ProcessWatch {
  readonly identity: ProcessIdentity
  readonly #changed: (phase: ProcessPhase) => void
  readonly #buffer = Buffer.alloc(1_024)
  #file: number | null
  readonly #timers: Timers
  #timer: Timer | null
  #phase: ProcessPhase = 'running'
  #writesNoMore = false
  /**
   * How the file began when it was last found running: up to the flags, behind which are numbers that always change.
   * Null before.
   */
  #whileRunning: string | null = null

  /**
   * Begins to look every `everyMs`; `changed` is called with each new phase, first of all with what it is when that is
   * not `running`, and once more when one that is torn down writes no more.
   */
  constructor(identity: ProcessIdentity, everyMs: number, timers: Timers, changed: (phase: ProcessPhase) => void) {
    this.identity = identity
    this.#changed = changed
    this.#timers = timers
    this.#file = unlessGone(() => openSync(`/proc/${identity.pid}/task/${identity.pid}/stat`, 'r')) ?? null
    this.#timer = timers.every(everyMs, () => this.look())
  }

  get phase(): ProcessPhase {
    return this.#phase
  }

  /** The process is torn down, and none of its threads writes any more. */
  get writesNoMore(): boolean {
    return this.#writesNoMore
  }

  /** From now on. */
  lookEvery(ms: number): void {
    if (this.#timer === null) return
    this.#timer.cancel()
    this.#timer = this.#timers.every(ms, () => this.look())
  }

  /** Looks now; not any more once it was stopped. */
  look(): void {
    if (this.#timer === null) return
    const phase = unlessGone(() => this.#read()) ?? 'dead'
    const rests = phase === 'exiting' && (this.#writesNoMore || hasOnlyExitingThreads(this.identity.pid))
    if (phase === this.#phase && rests === this.#writesNoMore) return
    this.#phase = phase
    this.#writesNoMore = rests
    if (phase === 'dead') this.stop()
    this.#changed(phase)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }

  /** A hundred times a second: a line that begins as before is not taken apart again. */
  #read(): ProcessPhase {
    if (this.#file === null) return 'dead'
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0)
    const known = this.#whileRunning
    if (known !== null && this.#buffer.toString('latin1', 0, Math.min(known.length, length)) === known) return 'running'
    const line = this.#buffer.toString('latin1', 0, length)
    const phase = phaseOf(parseProcessStat(line), this.identity.startTicks)
    this.#whileRunning = phase === 'running' ? upToFlags(line) : null
    return phase
  }
}

function upToFlags(line: string): string | null {
  return /^.*\)(?: \S+){7} /s.exec(line)?.[0] ?? null
}
