import { describe, expect, it } from 'vitest'
import type { Row } from '../connections/connection.ts'
import type { Sql } from '../connections/statements.ts'
import { setGates } from './gates.ts'

/** A server with the accounts of shop-1 and shop-2, unlocked, and a session of each. */
class GatedServer {
  readonly said: string[] = []
  readonly sql: Sql
  #sessions = ['regent_r_1', 'regent_r_2']

  constructor() {
    const read: Sql['read'] = async (statement) => (statement.includes('mysql.user') ? this.#gates() : this.#threads())
    const change: Sql['change'] = async (statement) => {
      this.said.push(statement)
      const killed = /^KILL CONNECTION (\d+)$/.exec(statement)?.[1]
      if (killed !== undefined) this.#sessions = this.#sessions.filter((user) => user !== `regent_r_${killed}`)
      return []
    }
    const until: Sql['until'] = async (look) => (await look()) || look()
    this.sql = {
      countdown: () => () => 1,
      read,
      readAll: () => Promise.reject(new Error('nobody asks')),
      change,
      changeUnbroken: change,
      until,
    }
  }

  get connected(): readonly string[] {
    return this.#sessions
  }

  #gates(): readonly Row[] {
    return ['regent_r_1', 'regent_r_2'].map((user) => ({ user, locked: 'N', intact: 1 }))
  }

  #threads(): readonly Row[] {
    return this.#sessions.map((user) => ({ id: Number(user.at(-1)), user, command: 'Binlog Dump GTID' }))
  }
}

describe('Closing a gate', () => {
  it('locks the account, ends the sessions of that account, and waits until these are gone', async () => {
    const server = new GatedServer()
    await setGates(server.sql, 'secret', ['shop-1'])
    expect(server.said).toEqual(["ALTER USER 'regent_r_2'@'%' ACCOUNT LOCK", 'KILL CONNECTION 2'])
    expect(server.connected).toEqual(['regent_r_1'])
  })

  it('locks before it ends a session: nobody comes back meanwhile', async () => {
    const server = new GatedServer()
    await setGates(server.sql, 'secret', [])
    expect(server.said.map((statement) => statement.split(' ')[0])).toEqual(['ALTER', 'KILL', 'KILL'])
  })
})
