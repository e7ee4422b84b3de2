import type { TestCluster } from './cluster.ts'

/** A `server_uuid` that no server of a test has. */
export const foreignUuid = '0f0e19f0-0000-4000-8000-00000000b0b0'

/** Clients that give their transactions GTIDs of another server, as a replay does. */
export class ForeignWriters {
  readonly #ended: Promise<unknown>
  #stopped = false
  #number: number
  #acknowledged = 0
  readonly #waiting = new Set<() => void>()

  private constructor(cluster: TestCluster, primary: string, { clients, after }: { clients: number; after: number }) {
    this.#number = after
    this.#ended = Promise.all(Array.from({ length: clients }, () => this.#write(cluster, primary)))
    this.#ended.catch(() => this.#wake())
  }

  /** Writes into `app.foreign_writes` at the primary, in so many sessions, GTIDs after `after`. */
  static async start(cluster: TestCluster, clients: number, after = 0): Promise<ForeignWriters> {
    const primary = await cluster.primary()
    await cluster.sql(primary, 'create table if not exists app.foreign_writes (id bigint primary key)')
    return new ForeignWriters(cluster, primary, { clients, after })
  }

  /** Resolves once so many writes were acknowledged. Rejects where a session failed. */
  async until(acknowledged: number): Promise<void> {
    while (this.#acknowledged < acknowledged)
      await Promise.race([this.#ended, new Promise<void>((resolve) => this.#waiting.add(resolve))])
  }

  /** Resolves to the number of the last GTID. Rejects where a session failed. */
  async stop(): Promise<number> {
    this.#stopped = true
    await this.#ended
    return this.#number
  }

  async #write(cluster: TestCluster, primary: string): Promise<void> {
    const session = await cluster.session(primary)
    try {
      while (!this.#stopped) {
        const id = (this.#number += 1)
        await session.query(`set gtid_next = '${foreignUuid}:${id}'`)
        await session.query(`insert into app.foreign_writes values (${id})`)
        await session.query(`set gtid_next = 'automatic'`)
        this.#acknowledged += 1
        this.#wake()
      }
    } finally {
      session.destroy()
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
