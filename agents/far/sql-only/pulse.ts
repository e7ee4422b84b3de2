import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import { tooManyConnections } from '#agents/sql/connections/connection.ts'
import { errnoOf } from '#agents/sql/connections/failure.ts'

interface Ports {
  readonly clock: Clock
  readonly timers: Timers
  /** When this mysqld started, by its own clock; rejects where the server does not say so. */
  readonly askStart: () => Promise<number>
}

const everyMs = 200
/** A session may have been ended by somebody: another one is tried before anything is said. */
const againMs = 40
/** A server that hangs, or a network that drops everything, refuses nothing. */
const unansweredMs = 800

/**
 * Whether a server answers that nothing but SQL reaches, and which start of its mysqld that is. A silence says nothing
 * of an end: the network may be cut. A server that is full has answered.
 */
export class SqlPulse {
  readonly #ports: Ports
  readonly #listeners: (() => void)[] = []
  #timer: Timer | null = null
  #asking = false
  #startedAt: number | null = null
  #answeredAtMs = Number.NEGATIVE_INFINITY
  #failure: RegentError | null = null
  #isRefused = false

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /** When the mysqld started that answered last; null before an answer. */
  get startedAt(): number | null {
    return this.#startedAt
  }

  /** Why the server is not seen; null while the server answers. */
  get whyUnseen(): RegentError | null {
    const silentMs = this.#ports.clock.monotonicMs() - this.#answeredAtMs
    if (!this.#isRefused && silentMs <= unansweredMs) return null
    return this.#failure ?? new RegentError('REGENT_SERVER_DOWN', say`mysqld has not answered for a moment`)
  }

  onAnswer(answered: () => void): void {
    this.#listeners.push(answered)
  }

  /** Asks once, and then again and again once that was answered. */
  async begin(): Promise<void> {
    this.#answered(await this.#ports.askStart())
    this.#timer = this.#ports.timers.every(everyMs, () => void this.#beat())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  async #beat(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    try {
      this.#answered(await this.#askTwice())
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#asking = false
    }
  }

  async #askTwice(): Promise<number> {
    const { askStart, timers } = this.#ports
    try {
      return await askStart()
    } catch (error) {
      if (codeOf(error) === 'REGENT_SERVER_TIMEOUT' || this.#isRefused) throw error
      await timers.sleep(againMs)
      return askStart()
    }
  }

  #answered(startedAt: number | null): void {
    this.#answeredAtMs = this.#ports.clock.monotonicMs()
    this.#failure = null
    this.#isRefused = false
    if (startedAt === null) return
    this.#startedAt = startedAt
    for (const listener of this.#listeners) listener()
  }

  #failed(error: unknown): void {
    if (tooManyConnections.has(errnoOf(error))) return this.#answered(null)
    this.#failure =
      error instanceof RegentError ? error : new RegentError('REGENT_SERVER_DOWN', say`${described(error)}`)
    this.#isRefused ||= codeOf(error) !== 'REGENT_SERVER_TIMEOUT'
  }
}
