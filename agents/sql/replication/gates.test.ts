import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Row } from '../connections/statements.ts'
import type { Sql } from '../connections/statements.ts'
import { setGates } from './gates.ts'

/**
 * A server with the accounts of shop-1 and shop-2, unlocked, and a dump thread of each. `KILL QUERY` leaves a session.
 */
class GatedServer {
  readonly said: string[] = []
  readonly sql: Sql
  #sessions = ['regent_r_1', 'regent_r_2']
  readonly #ended = new Set<string>()
  /** Of somebody who took such a name. */
  readonly #others: readonly string[]
  /** Its password was changed by another hand, and the server wants another kind of password now. */
  refusesPasswordOf = ''

  constructor(...others: readonly string[]) {
    this.#others = others
    const read: Sql['read'] = async (statement) => (statement.includes('mysql.user') ? this.#gates() : this.#threads())
    const change: Sql['change'] = async (statement) => {
      if (statement.includes(`'${this.refusesPasswordOf}'@'%' IDENTIFIED`))
        throw new RegentError('REGENT_SERVER_ERROR', say`no such password`, { cause: { errno: 1819 } })
      this.said.push(statement)
      const [, what, id] = /^KILL (\w+) (\d+)$/.exec(statement) ?? []
      if (what === 'QUERY') this.#ended.add(`regent_r_${id}`)
      if (what === 'CONNECTION') this.#sessions = this.#sessions.filter((user) => user !== `regent_r_${id}`)
      return []
    }
    const until: Sql['until'] = async (look) => (await look()) || (await look()) || look()
    this.sql = {
      countdown: (deadlineMs) => () => deadlineMs,
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
    return ['regent_r_1', 'regent_r_2', ...this.#others].map((user) => ({
      user,
      locked: user === this.refusesPasswordOf ? 'Y' : 'N',
      intact: user === this.refusesPasswordOf ? 0 : 1,
    }))
  }

  #threads(): readonly Row[] {
    return this.#sessions.map((user) => ({
      id: Number(user.at(-1)),
      user,
      command: this.#ended.has(user) ? 'Sleep' : 'Binlog Dump GTID',
    }))
  }
}

describe('Opening a gate', () => {
  it('whose password the server does not take keeps no primary from opening: that replica alone stays out', async () => {
    const server = new GatedServer()
    server.refusesPasswordOf = 'regent_r_1'
    await setGates(server.sql, 'secret', ['shop-1', 'shop-2'])
    expect(server.said).toEqual(["ALTER USER 'regent_r_1'@'%' ACCOUNT UNLOCK"])
  })
})

describe('Closing a gate', () => {
  it('locks the account, ends the sessions of that account, and waits until these are gone', async () => {
    const server = new GatedServer()
    await setGates(server.sql, 'secret', ['shop-1'])
    expect(server.said).toEqual(["ALTER USER 'regent_r_2'@'%' ACCOUNT LOCK", 'KILL QUERY 2', 'KILL CONNECTION 2'])
    expect(server.connected).toEqual(['regent_r_1'])
  })

  it('locks also whoever took a name like that, however it is written', async () => {
    const server = new GatedServer('regent_r_\\')
    await setGates(server.sql, 'secret', ['shop-1', 'shop-2'])
    expect(server.said).toEqual(["ALTER USER `regent_r_\\`@'%' ACCOUNT LOCK"])
  })

  it('locks before it ends a session: nobody comes back meanwhile', async () => {
    const server = new GatedServer()
    await setGates(server.sql, 'secret', [])
    expect(server.said.map((statement) => statement.split(' ')[0])).toEqual(['ALTER', 'KILL', 'KILL', 'KILL', 'KILL'])
  })
})
