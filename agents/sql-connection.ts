import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { describeError, RegentError } from '../src/common/errors.ts'
import type { Clock, Timers } from '../src/common/ports.ts'

export interface SqlTarget {
  /** Unix socket, or undefined for the administrative interface. */
  readonly socketPath?: string
  readonly host?: string
  readonly port?: number
  readonly localAddress?: string
  readonly user: string
  readonly password: string
}

export type Row = RowDataPacket

/**
 * One persistent connection with a deadline on every statement. A statement that passes its deadline is killed in the server through a second connection, because a
 * client's time-out alone leaves it there, holding what it holds.
 */
export class SqlConnection {
  readonly #targets: readonly SqlTarget[]
  readonly #timers: Timers
  readonly #clock: Clock
  readonly #init: readonly string[]
  #connection: Promise<Connection> | null = null
  /** Statements under way on it: the driver never answers those of a connection that is destroyed. */
  #abandon = new Set<(error: RegentError) => void>()

  /** @param targets tried in this order @param init statements run once on each new connection */
  constructor(targets: readonly SqlTarget[], ports: { clock: Clock; timers: Timers }, init: readonly string[] = []) {
    this.#targets = targets
    this.#timers = ports.timers
    this.#clock = ports.clock
    this.#init = init
  }

  /**
   * Runs one statement and gives its rows. Rejects with `REGENT_SERVER_TIMEOUT` (killed), `REGENT_SERVER_ERROR` (MySQL's words) or `REGENT_SERVER_DOWN`.
   * @param deadlineMs Infinity waits for ever and never kills: for markers.
   */
  async query(statement: string, deadlineMs: number, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const began = this.#clock.monotonicMs()
    const connection = await this.#within(this.#connect(), deadlineMs, statement)
    const remaining = deadlineMs - (this.#clock.monotonicMs() - began)
    const running = connection.query<RowDataPacket[]>(statement, [...values]).then(([rows]) => (Array.isArray(rows) ? rows : []))
    try {
      return await this.#within(this.#unlessAbandoned(running, statement), remaining, statement)
    } catch (error) {
      if (error instanceof RegentError && error.code === 'REGENT_SERVER_DOWN') throw error
      if (error instanceof RegentError) {
        this.disconnect()
        await this.#kill(connection.threadId)
        throw error
      }
      throw this.#translate(error, statement)
    }
  }

  disconnect(): void {
    const old = this.#connection
    this.#connection = null
    const abandoned = this.#abandon
    this.#abandon = new Set()
    for (const abandon of abandoned) abandon(new RegentError('REGENT_SERVER_DOWN', 'the connection was given up'))
    old?.then((connection) => connection.destroy()).catch(() => undefined)
  }

  #connect(): Promise<Connection> {
    this.#connection ??= this.#open().catch((error: unknown) => {
      this.#connection = null
      throw this.#translate(error, 'connecting')
    })
    return this.#connection
  }

  async #open(): Promise<Connection> {
    let last: unknown
    for (const target of this.#targets) {
      try {
        const connection = await createConnection({ ...target, connectTimeout: 1_000, multipleStatements: true, supportBigNumbers: true, charset: 'utf8mb4' })
        connection.on('error', () => this.disconnect())
        for (const statement of this.#init) await connection.query(statement)
        return connection
      } catch (error) {
        last = error
      }
    }
    throw last
  }

  #unlessAbandoned<T>(work: Promise<T>, statement: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const abandon = this.#abandon
      const give = (error: RegentError): void => reject(new RegentError(error.code, `${brief(statement)}: ${error.message}`))
      abandon.add(give)
      work.then(resolve, reject).finally(() => abandon.delete(give))
    })
  }

  async #within<T>(work: Promise<T>, deadlineMs: number, statement: string): Promise<T> {
    if (deadlineMs === Number.POSITIVE_INFINITY) return work
    work.catch(() => undefined)
    return new Promise<T>((resolve, reject) => {
      const timer = this.#timers.after(Math.max(1, deadlineMs), () => reject(new RegentError('REGENT_SERVER_TIMEOUT', `no answer within ${Math.round(deadlineMs)} ms: ${brief(statement)}`)))
      work.then(resolve, reject).finally(() => timer.cancel())
    })
  }

  /** Ends the statement and its connection in the server; a server that does not answer that either is frozen, which shows elsewhere. */
  async #kill(threadId: number): Promise<void> {
    const killer = new SqlConnection(this.#targets, { clock: this.#clock, timers: this.#timers })
    try {
      await killer.#within(killer.#connect().then((connection) => connection.query(`KILL CONNECTION ${threadId}`)), 500, 'KILL CONNECTION')
    } catch {
      // Gone already, or the server does not answer anybody: the caller reports its own time-out.
    } finally {
      killer.disconnect()
    }
  }

  #translate(error: unknown, statement: string): RegentError {
    const { errno, code, sqlState } = error as { errno?: number; code?: string; sqlState?: string }
    // Codes from 2000 to 2999 are the client library's: the connection is gone.
    const byServer = sqlState !== undefined && errno !== undefined && (errno < 2_000 || errno >= 3_000)
    if (byServer) return new RegentError('REGENT_SERVER_ERROR', `${brief(statement)}: ${describeError(error)} (${errno})`, { cause: stripped(error) })
    this.disconnect()
    return new RegentError('REGENT_SERVER_DOWN', `${brief(statement)}: ${code ?? describeError(error)}`, { cause: stripped(error) })
  }
}

/** The first words of a statement, never its literals: they may be passwords. */
function brief(statement: string): string {
  return statement.replace(/'(?:[^'\\]|\\.|'')*'/g, '…').replace(/\s+/g, ' ').slice(0, 80)
}

/** The driver keeps the whole statement in its errors. */
function stripped(error: unknown): unknown {
  return { code: (error as { code?: string }).code, errno: (error as { errno?: number }).errno }
}
