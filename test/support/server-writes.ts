import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { monotonicMs } from './monotonic.ts'
import { queryWithin } from './sql-session.ts'

export const makeServerWritesTable =
  'create table if not exists app.server_writes (id bigint auto_increment primary key)'

const attemptMs = 1_000
const refusedMs = 1
/** Writes before a change of primary and after it. */
const aroundMs = 200

interface Server {
  readonly open: () => Promise<Connection>
  readonly first: Connection
}

/**
 * The ms between the last write that one server took and the first of another one, while `change` makes another one
 * primary.
 *
 * @param opens one for each server: gives another session of a client with each call
 */
export async function pauseAtServers(
  opens: readonly (() => Promise<Connection>)[],
  change: () => Promise<unknown>,
): Promise<number> {
  const writes = await ServerWrites.start(opens)
  try {
    await sleep(aroundMs)
    await change()
    await sleep(aroundMs)
  } finally {
    await writes.stop()
  }
  return writes.pauseMs()
}

/**
 * Writes to every server at the same time, each next row as soon as that server has answered, over sessions that were
 * open before: what the servers refuse, without the time in which a client finds the new primary. `app.server_writes`
 * is there (`makeServerWritesTable`).
 */
class ServerWrites {
  readonly #acknowledged: { readonly by: Server; readonly ms: number }[] = []
  readonly #running: Promise<unknown>
  #isStopped = false

  private constructor(servers: readonly Server[]) {
    this.#running = Promise.all(servers.map((server) => this.#write(server)))
  }

  static async start(opens: readonly (() => Promise<Connection>)[]): Promise<ServerWrites> {
    return new ServerWrites(await Promise.all(opens.map(async (open) => ({ open, first: await open() }))))
  }

  /** Ends the sessions. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  pauseMs(): number {
    const writes = this.#acknowledged.toSorted((a, b) => a.ms - b.ms)
    const pauses = writes.flatMap(({ by, ms }, at) => {
      const before = writes[at - 1]
      return before === undefined || before.by === by ? [] : [ms - before.ms]
    })
    if (pauses.length === 0) throw new Error('all writes were taken by the same server')
    return Math.max(...pauses)
  }

  async #write(server: Server): Promise<void> {
    const { open } = server
    let session = server.first
    while (!this.#isStopped) {
      try {
        await queryWithin(session, 'insert into app.server_writes () values ()', attemptMs)
        this.#acknowledged.push({ by: server, ms: monotonicMs() })
      } catch (error) {
        await sleep(refusedMs)
        if (isRefused(error)) continue
        session.destroy()
        session = await open().catch(() => session)
      }
    }
    session.destroy()
  }
}

/** Read-only, which leaves the session as the session was. */
function isRefused(error: unknown): boolean {
  return [1290, 1836].includes((error as { readonly errno?: number }).errno ?? 0)
}
