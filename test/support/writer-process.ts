import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { monotonicMs } from './monotonic.ts'
import { openSession, queryWithin } from './sql-session.ts'
import type { Acknowledged, FromWriter, ToWriter, WriterOrders } from './writer-wire.ts'

/**
 * A client in a process of its own, so that nothing else disturbs its timing: writes one new id every `everyMs`, one
 * attempt at a time, to the published primary, and tells its parent which ones were acknowledged. It learns of a change
 * as any client does: its session breaks, an attempt takes too long, or the server refuses.
 */
const reportEveryMs = 50
/** A server that takes a session at all takes it within this time. */
const loginMs = 250

class Writer {
  readonly #orders: WriterOrders
  #session: { readonly connection: Connection; readonly host: string } | undefined
  #id: number
  #turn = 0
  #unsent: Acknowledged[] = []
  #stopped = false

  constructor(orders: WriterOrders) {
    this.#orders = orders
    this.#id = orders.firstId
  }

  async run(): Promise<void> {
    const reports = setInterval(() => this.#report(), reportEveryMs)
    let due = monotonicMs()
    while (!this.#stopped) {
      const written = await this.#attempt()
      // While it fails it tries again at once; what it missed meanwhile is not made up for.
      due = written ? Math.max(due + this.#orders.everyMs, monotonicMs()) : monotonicMs() + this.#orders.retryMs
      await sleep(Math.max(0, due - monotonicMs()))
    }
    clearInterval(reports)
    this.#session?.connection.destroy()
    this.#report()
  }

  stop(): void {
    this.#stopped = true
  }

  async #attempt(): Promise<boolean> {
    try {
      this.#session ??= await this.#open()
    } catch (error) {
      this.#failed(error)
      return false
    }
    const { connection, host } = this.#session
    const id = this.#id++
    const beganMs = monotonicMs()
    try {
      await queryWithin(connection, this.#insertOf(id), this.#orders.attemptMs)
      this.#unsent.push({ id, host, beganMs, ackedMs: monotonicMs() })
      return true
    } catch (error) {
      connection.destroy()
      this.#session = undefined
      this.#failed(error)
      if (!isRefused(error)) send({ kind: 'unknown', id })
      return false
    }
  }

  #insertOf(id: number): string {
    const { table, bodyBytes } = this.#orders
    if (bodyBytes === 0) return `insert into ${table} (id) values (${id})`
    return `insert into ${table} (id, body) values (${id}, repeat('x', ${bodyBytes}))`
  }

  async #open(): Promise<{ readonly connection: Connection; readonly host: string }> {
    const { user, password } = this.#orders
    const { host, port } = this.#target()
    const connection = await openSession({ host, port, user, password, database: 'app' }, loginMs)
    const server = this.#orders.pinned?.asksServer === true ? await serverBehind(connection) : host
    send({ kind: 'let-in', letIn: { host: server, atMs: monotonicMs() } })
    return { connection, host: server }
  }

  #target(): { readonly host: string; readonly port: number } {
    if (this.#orders.pinned !== null) return this.#orders.pinned
    return (
      publishedIn(this.#orders.routes) ??
      this.#orders.instances[this.#turn++ % this.#orders.instances.length] ?? { host: '', port: 0 }
    )
  }

  #failed(error: unknown): void {
    send({ kind: 'failed', failure: { code: codeOf(error), atMs: monotonicMs() } })
  }

  #report(): void {
    if (this.#unsent.length > 0) send({ kind: 'acknowledged', writes: this.#unsent })
    this.#unsent = []
  }
}

/** The address of the instance to which a router led the session. */
async function serverBehind(connection: Connection): Promise<string> {
  try {
    const [row] = await queryWithin(connection, 'select @@report_host as host', loginMs)
    return String(row?.['host'])
  } catch (error) {
    connection.destroy()
    throw error
  }
}

function publishedIn(path: string): { readonly host: string; readonly port: number } | undefined {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { primary: { host: string; port: number } }).primary
  } catch {
    return undefined
  }
}

/** The server said no before it wrote anything: read-only (1290) or not logged in any more (3032). */
function isRefused(error: unknown): boolean {
  return ['ER_OPTION_PREVENTS_STATEMENT', 'ER_SERVER_OFFLINE_MODE', 'ER_READ_ONLY_MODE'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error && error.message.startsWith('no answer') ? 'TIMED_OUT' : String(error)
}

function send(message: FromWriter): void {
  // A parent that just ended is no error of its writer, which ends with the parent.
  if (process.connected) process.send?.(message, undefined, {}, () => undefined)
}

let writer: Writer | undefined

// Ctrl-C is the parent's to answer; this process ends with it.
process.on('SIGINT', () => undefined)
process.on('disconnect', () => process.exit(0))
process.on('message', (message: ToWriter) => {
  if (message.kind === 'stop') return writer?.stop()
  writer = new Writer(message.orders)
  setTimeout(() => process.exit(1), message.orders.lifeMs).unref()
  void writer.run().then(() => {
    send({ kind: 'ended' })
    process.disconnect()
  })
})
