import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { checkWrites, type WritesCheck } from './writes-check.ts'
import { monotonicMs } from './monotonic.ts'
import { firstWrite, longestPause, type Pause } from './outage.ts'
import { patienceMs } from './patience.ts'
import type { Acknowledged, Failure, FromWriter, LetIn, ToWriter, WriterReport } from './writer-wire.ts'
import type { WrittenCluster } from './written-cluster.ts'

export interface WriterOptions {
  readonly table?: string
  readonly everyMs?: number
  /** What each row carries besides its id: a transaction of 10 MB is on its way for a while. 0 unless given. */
  readonly bodyBytes?: number
  readonly attemptMs?: number
  readonly lifeMs?: number
  /** After a failed attempt the next one begins so much later. */
  readonly retryMs?: number
  /** Name of an instance: write to that one only, whatever is published. */
  readonly pinnedTo?: string
  /** Nobody acknowledges its writes for now: they are not waited for. */
  readonly unheard?: true
  /** Words before its command, which exec it: where it shall run. */
  readonly wrapper?: readonly string[]
}

const running = new Set<Writer>()

/** Ends every writer that a test left behind, most likely because it failed. */
export async function stopWriters(): Promise<void> {
  await Promise.all([...running].map((writer) => writer.stop()))
}

/** A real client that writes unique ids, in a process of its own, and keeps which ones were acknowledged. */
export class Writer {
  readonly table: string
  readonly #child: ChildProcess
  readonly #cluster: WrittenCluster
  readonly #acknowledged: Acknowledged[] = []
  readonly #unknown: number[] = []
  readonly #failures: Failure[] = []
  readonly #letIn: LetIn[] = []
  readonly #waiting = new Set<() => void>()

  private constructor(cluster: WrittenCluster, table: string, wrapper: readonly string[]) {
    this.#cluster = cluster
    this.table = table
    const [execPath = process.execPath, ...execArgv] = [...wrapper, process.execPath, ...process.execArgv]
    this.#child = fork(join(import.meta.dirname, 'writer-process.ts'), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execPath,
      execArgv,
    })
    running.add(this)
    this.#child.once('exit', () => running.delete(this))
    this.#child.on('message', (message) => this.#hear(message as FromWriter))
  }

  /**
   * Makes the table where it is missing, and begins to write after the ids that it has. Resolves once a write was
   * acknowledged.
   */
  static async start(cluster: WrittenCluster, options: WriterOptions = {}): Promise<Writer> {
    const { table = 'writes', everyMs = 10, attemptMs = 300, lifeMs = 600_000, retryMs = 5, wrapper = [] } = options
    const { bodyBytes = 0 } = options
    const firstId = await prepareTable(cluster, table, bodyBytes > 0)
    const target = await cluster.writerTarget(options.pinnedTo)
    const writer = new Writer(cluster, table, wrapper)
    writer.#tell({
      kind: 'begin',
      orders: {
        ...target,
        ...(await cluster.login('client')),
        table,
        firstId,
        everyMs,
        bodyBytes,
        attemptMs,
        lifeMs,
        retryMs,
      },
    })
    if (options.unheard !== true) await writer.next()
    return writer
  }

  get report(): WriterReport {
    return { acknowledged: this.#acknowledged, unknown: this.#unknown, errors: countsOf(this.#failures) }
  }

  get count(): number {
    return this.#acknowledged.length
  }

  /**
   * Resolves once a write that began after `sinceMs` (now, unless given) was acknowledged, by a server other than
   * `notBy` where that is given.
   */
  async next(
    sinceMs = monotonicMs(),
    options: { readonly notBy?: string; readonly deadlineMs?: number } = {},
  ): Promise<Acknowledged> {
    const { notBy, deadlineMs = patienceMs } = options
    const until = monotonicMs() + deadlineMs
    for (;;) {
      const found = firstWrite(this.#acknowledged, sinceMs, notBy)
      if (found !== undefined) return found
      if (monotonicMs() > until)
        throw new Error(
          `no write was acknowledged${notBy === undefined ? '' : ` by another server than ${notBy}`} within ${deadlineMs} ms; errors: ${JSON.stringify(this.report.errors)}`,
        )
      await this.#heard(200)
    }
  }

  /** Writes that were acknowledged after this time. */
  since(atMs: number): readonly Acknowledged[] {
    return this.#acknowledged.filter(({ ackedMs }) => ackedMs > atMs)
  }

  /**
   * Writes that began after this time and were acknowledged. Unlike the time of an acknowledgement, which a client that
   * is held up notes too late, it cannot be wrong in this direction.
   */
  begunSince(atMs: number): readonly Acknowledged[] {
    return this.#acknowledged.filter(({ beganMs }) => beganMs > atMs)
  }

  /** The last write that was acknowledged at or before this time. */
  lastBefore(atMs: number): Acknowledged | undefined {
    return this.#acknowledged.findLast(({ ackedMs }) => ackedMs <= atMs)
  }

  /**
   * When a server took this client's login for the first time after `sinceMs`; only `by` counts where that is given.
   */
  letInSince(sinceMs: number, by?: string): number | undefined {
    return this.#letIn.find(({ host, atMs }) => atMs > sinceMs && (by === undefined || host === by))?.atMs
  }

  /** How often each code was said between these two times. */
  errorsBetween(sinceMs: number, untilMs: number): Readonly<Record<string, number>> {
    return countsOf(this.#failures.filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs))
  }

  /** Milliseconds from the fault to the first acknowledged write on another server. */
  async outageSince(faultMs: number, deadlineMs = patienceMs): Promise<number> {
    const before = this.lastBefore(faultMs)
    const first = await this.next(faultMs, { ...(before && { notBy: before.host }), deadlineMs })
    return first.ackedMs - faultMs
  }

  /** The longest time between two acknowledged writes one after the other, since `sinceMs`. */
  longestPause(sinceMs = 0): Pause {
    return longestPause(this.#acknowledged, sinceMs)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    if (this.#child.connected) this.#tell({ kind: 'stop' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000)
    await gone
    clearTimeout(timer)
  }

  /**
   * Stops, and reads every write back on the primary and on every replica once that has caught up.
   *
   * @param but who is closed, and follows nobody
   */
  async check(...but: readonly string[]): Promise<WritesCheck> {
    await this.stop()
    return checkWrites(this.#cluster, this.table, this.#acknowledged, { but })
  }

  #hear(message: FromWriter): void {
    if (message.kind === 'acknowledged') this.#acknowledged.push(...message.writes)
    if (message.kind === 'unknown') this.#unknown.push(message.id)
    if (message.kind === 'failed') this.#failures.push(message.failure)
    if (message.kind === 'let-in') this.#letIn.push(message.letIn)
    for (const wake of this.#waiting) wake()
  }

  #heard(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, deadlineMs)
      this.#waiting.add(wake)
    })
  }

  #tell(message: ToWriter): void {
    this.#child.send(message)
  }
}

function countsOf(failures: readonly Failure[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const { code } of failures) counts.set(code, (counts.get(code) ?? 0) + 1)
  return Object.fromEntries(counts)
}

/**
 * Nothing in it is unique but `number`, so that a write that took place twice is seen. Gives the first id that is free.
 */
async function prepareTable(cluster: WrittenCluster, table: string, hasBody: boolean): Promise<number> {
  const primary = await cluster.primary()
  const as = { user: 'client' } as const
  await cluster.sql(
    primary,
    `create table if not exists app.${table} (number bigint auto_increment primary key, id bigint not null,${hasBody ? ' body longblob,' : ''} key (id))`,
    as,
  )
  const [row] = await cluster.sql(primary, `select coalesce(max(id), 0) + 1 as first from app.${table}`, as)
  return Number(row?.['first'])
}
