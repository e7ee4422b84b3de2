import type { Clock, Timers } from '#common/ports/ports.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { SqlConnection, type SqlTarget } from './connection.ts'
import type { Row } from './statements.ts'
import { errnoOf, interrupted, timeoutError } from './failure.ts'

/**
 * What becomes of a statement that passed its deadline: `abandon` answers at once and ends it in the background
 * (reads); `end` answers when it is seen to have ended (what changes something); `leave` leaves it running (a marker:
 * killed while it waits, it would commit unacknowledged).
 */
type AfterDeadline = 'abandon' | 'end' | 'leave'

export interface QueryOptions {
  /** Milliseconds; Infinity for none. */
  readonly deadlineMs: number
  readonly after: AfterDeadline
}

interface Ports {
  readonly clock: Clock
  readonly timers: Timers
}

/**
 * How long a second connection may take to end a statement. A server that takes longer is frozen, and that shows
 * elsewhere.
 */
const killMs = 500
/** A login takes milliseconds, also where the statement after it may wait for ever. */
const loginMs = 10_000
const mostIdle = 3

/**
 * Connections to the server, reused, with a deadline on every statement. A client's time-out alone leaves a statement
 * in the server, holding what it holds: what passed its deadline is ended there through a second connection
 * (docs/why/safety.md, "What ends a wait waits for no client").
 */
export class SqlPool {
  readonly #targets: readonly SqlTarget[]
  readonly #init: string
  readonly #ports: Ports
  #idle: SqlConnection[] = []
  /** What is under way, and since when (monotonic). */
  readonly #busy = new Map<SqlConnection, number>()
  #ending = false

  /** @param targets tried in this order @param init run once on each new connection */
  constructor(targets: readonly SqlTarget[], init: string, ports: Ports) {
    this.#targets = targets
    this.#init = init
    this.#ports = ports
  }

  /** Rows of one statement. Rejects with `REGENT_SERVER_TIMEOUT`, `REGENT_SERVER_ERROR` or `REGENT_SERVER_DOWN`. */
  async query(statement: string, { deadlineMs, after }: QueryOptions): Promise<readonly Row[]> {
    const until = this.#ports.clock.monotonicMs() + deadlineMs
    const connection = this.#take() ?? (await this.#open(Math.min(deadlineMs, loginMs), statement))
    this.#begins(connection)
    const running = connection.query(statement).finally(() => this.#release(connection))
    if (await this.#settles(running, until - this.#ports.clock.monotonicMs())) return running
    running.catch(() => undefined)
    switch (after) {
      case 'leave':
        throw timeoutError(statement, deadlineMs, say`; it goes on waiting in the server`)
      case 'abandon':
        this.#endInBackground(connection)
        throw timeoutError(statement, deadlineMs)
      case 'end':
        return this.#endAndSee(connection, running, timeoutError(statement, deadlineMs))
    }
  }

  /**
   * A statement that may run for hours on a connection of its own. When `signal` is aborted it is ended in the server,
   * and this rejects with the signal's reason.
   */
  async long(statement: string, signal: AbortSignal): Promise<readonly Row[]> {
    const connection = await this.#open(loginMs, statement)
    // A signal that was aborted during the login tells nobody again.
    if (signal.aborted) {
      connection.destroy()
      throw signal.reason as Error
    }
    this.#begins(connection)
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error)
        this.#endInBackground(connection)
      })
    })
    return Promise.race([connection.query(statement).finally(() => this.#release(connection)), aborted])
  }

  /** A connection that the caller has alone, and destroys; `disconnect` knows nothing of it. */
  alone(): Promise<SqlConnection> {
    return this.#open(loginMs, 'a session of its own')
  }

  /** Closes every connection; what runs is rejected with `REGENT_SERVER_DOWN`. The next statement connects again. */
  disconnect(): void {
    for (const connection of [...this.#idle, ...this.#busy.keys()]) connection.destroy()
    this.#idle = []
    this.#busy.clear()
  }

  /** Milliseconds for which the oldest of its statements, or logins, has been under way; 0 for none. */
  get oldestMs(): number {
    const [oldest] = this.#busy.values()
    return oldest === undefined ? 0 : this.#ports.clock.monotonicMs() - oldest
  }

  #begins(connection: SqlConnection): void {
    this.#busy.set(connection, this.#ports.clock.monotonicMs())
  }

  #take(): SqlConnection | undefined {
    this.#idle = this.#idle.filter((connection) => connection.isOpen)
    return this.#idle.pop()
  }

  #release(connection: SqlConnection): void {
    const wasOurs = this.#busy.delete(connection)
    if (wasOurs && connection.isOpen && this.#idle.length < mostIdle) this.#idle.push(connection)
    else connection.destroy()
  }

  async #open(deadlineMs: number, statement: string): Promise<SqlConnection> {
    let attempt: SqlConnection | undefined
    const opening = SqlConnection.open(this.#targets, this.#init, (began) => {
      if (attempt) this.#busy.delete(attempt)
      attempt = began
      this.#begins(began)
    })
    const opened = await this.#settles(opening, deadlineMs)
    if (attempt) this.#busy.delete(attempt)
    if (opened) return opening
    opening.then(
      (late) => late.destroy(),
      () => undefined,
    )
    attempt?.destroy()
    throw timeoutError(statement, deadlineMs, say`; mysqld did not let the agent in`)
  }

  /** True once `work` has ended, in whatever way; false when it has not after `ms`. */
  #settles(work: Promise<unknown>, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer =
        ms === Number.POSITIVE_INFINITY ? undefined : this.#ports.timers.after(Math.max(0, ms), () => resolve(false))
      const ended = () => {
        timer?.cancel()
        resolve(true)
      }
      work.then(ended, ended)
    })
  }

  #endInBackground(connection: SqlConnection): void {
    const { id } = connection
    this.#busy.delete(connection)
    connection.destroy()
    // Against a frozen server attempts would only pile up.
    if (this.#ending) return
    this.#ending = true
    void this.#kill(`KILL CONNECTION ${id}`).finally(() => (this.#ending = false))
  }

  async #endAndSee(
    connection: SqlConnection,
    running: Promise<readonly Row[]>,
    late: RegentError,
  ): Promise<readonly Row[]> {
    const [, ended] = await Promise.all([this.#kill(`KILL QUERY ${connection.id}`), this.#settles(running, killMs)])
    if (!ended) {
      this.#endInBackground(connection)
      throw new RegentError('REGENT_SERVER_TIMEOUT', say`${described(late)}; it was killed and has not ended yet`)
    }
    return running.catch((error: unknown) => {
      throw errnoOf(error) === interrupted ? late : error
    })
  }

  /** Never rejects: who is gone already need not be killed, and a frozen server kills nobody. */
  async #kill(statement: string): Promise<void> {
    const killer = new SqlPool(this.#targets, this.#init, this.#ports)
    await killer.query(statement, { deadlineMs: killMs, after: 'leave' }).catch(() => undefined)
    killer.disconnect()
  }
}
