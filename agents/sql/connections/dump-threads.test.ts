import { describe, expect, it } from 'vitest'
import type { Row } from './statements.ts'
import { endReplicaSessions, killDumpThreads, waitSessionsGone } from './dump-threads.ts'
import type { Sql } from './statements.ts'

interface Session {
  readonly id: number
  readonly user: string
  command: string
  state: string
}

/**
 * A server with sessions of replicas, looked at once each millisecond. `KILL QUERY` makes a dump thread stop sending at
 * the next look and be a sleeping session at the one after, unless that thread hangs.
 */
class FakeServer implements Partial<Sql> {
  readonly killed: string[] = []
  hangs = false
  #nowMs = 0
  readonly #sessions: Session[]

  constructor(...sessions: readonly Partial<Session>[]) {
    this.#sessions = sessions.map((session, at) => ({
      id: at + 1,
      user: `regent_r_shop-${at + 1}`,
      command: 'Binlog Dump GTID',
      state: 'Source has sent all binlog to replica; waiting for more updates',
      ...session,
    }))
  }

  get sql(): Sql {
    return this as unknown as Sql
  }

  async read(statement: string): Promise<readonly Row[]> {
    const ids = / IN \(([\d, ]+)\)$/.exec(statement)?.[1]?.split(', ').map(Number)
    const seen = this.#sessions.filter(({ id }) => ids?.includes(id) ?? true).map((session) => ({ ...session }))
    for (const session of this.#sessions) {
      if (session.state === 'Waiting to finalize termination') Object.assign(session, { command: 'Sleep', state: '' })
      else if (session.state === 'asked') session.state = 'Waiting to finalize termination'
    }
    return seen
  }

  async change(statement: string): Promise<readonly Row[]> {
    const [, what = '', id = ''] = /^KILL (\w+) (\d+)$/.exec(statement) ?? []
    this.killed.push(`${what} ${id}`)
    const at = this.#sessions.findIndex((session) => session.id === Number(id))
    const session = this.#sessions[at]
    if (what === 'CONNECTION') this.#sessions.splice(at, 1)
    else if (session !== undefined && !this.hangs) session.state = 'asked'
    return []
  }

  countdown(deadlineMs: number): () => number {
    const until = this.#nowMs + deadlineMs
    return () => Math.max(1, until - this.#nowMs)
  }

  async until(look: () => Promise<boolean>, waitMs: number): Promise<boolean> {
    for (const until = this.#nowMs + waitMs; this.#nowMs < until; this.#nowMs += 1) if (await look()) return true
    return false
  }
}

describe('A dump thread', () => {
  it('is asked to end, and its session is ended once nobody reads its acknowledgements', async () => {
    const server = new FakeServer({}, {})
    const ids = await killDumpThreads(server.sql, ({ user }) => user === 'regent_r_shop-2')
    expect(ids).toEqual([1])
    expect(server.killed).toEqual(['QUERY 1'])
  })

  it('of a closed gate is ended likewise, and so is a session that has just logged in', async () => {
    const server = new FakeServer({}, { command: 'Sleep', state: '' })
    await endReplicaSessions(server.sql, () => false)
    expect(server.killed).toEqual(['QUERY 1', 'CONNECTION 2', 'CONNECTION 1'])
  })

  it('that hangs in its connection is cut off after half a second', async () => {
    const server = new FakeServer({})
    server.hangs = true
    await waitSessionsGone(server.sql, [1])
    expect(server.killed).toEqual(['QUERY 1', 'CONNECTION 1'])
  })
})
