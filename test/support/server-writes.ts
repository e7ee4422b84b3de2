import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { monotonicMs } from './monotonic.ts'
import { queryWithin } from './sql-session.ts'

export const makeServerWritesTable =
  'create table if not exists app.server_writes (id bigint auto_increment primary key)'

const attemptMs = 1_000
const refusedMs = 1

interface Server {
  readonly open: () => Promise<Connection>
  readonly first: Connection
}

/**
 * Writes to every server at the same time, each next row as soon as that server has answered, over sessions that were
 * open before: what the servers refuse, without the time in which a client finds the new primary. `app.server_writes`
 * is there (`makeServerWritesTable`).
 */
export class ServerWrites {
  readonly #acknowledged: { readonly by: Server; readonly ms: number }[] = []
  readonly #running: Promise<unknown>
  #isStopped = false

  private constructor(servers: readonly Server[]) {
    this.#running = Promise.all(servers.map((server) => this.#write(server)))
  }

  /** @param opens one for each server: gives another session of a client with each call */
  static async start(opens: readonly (() => Promise<Connection>)[]): Promise<ServerWrites> {
    return new ServerWrites(await Promise.all(opens.map(async (open) => ({ open, first: await open() }))))
  }

  /** Ends the sessions, and gives the ms between the last write that one server took and the first of another one. */
  async pauseMs(): Promise<number> {
    this.#isStopped = true
    await this.#running
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
