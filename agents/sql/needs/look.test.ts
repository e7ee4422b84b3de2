import { describe, expect, it } from 'vitest'
import { accountsAnew } from '#agents/instance/accounts.ts'
import { needsOf } from '#agents/needs/needs.ts'
import type { Row } from '../connections/statements.ts'
import type { Sql } from '../connections/statements.ts'
import { groupAccountStatements } from '../replication/group-account.ts'
import { lackingOf } from './look.ts'
import { NeedsSql } from './needs-sql.ts'

const gate = 'regent_r_1'
const needs = needsOf({ cluster: 'shop', mode: 'semisync' }).filter(
  (need) => need.kind === 'account' && need.user === gate,
)
/** A gate that is locked, and right otherwise. */
const right: Row = {
  ...{ user: gate, host: '%', plugin: 'caching_sha2_password', bounds: 'YN', free: 1 },
  ...{ lifetime: null, attempts: null, Repl_slave_priv: 'Y' },
}

async function lacks(more: Row): Promise<number> {
  const its = { user: gate, host: '%' }
  const grants = ['CONNECTION_ADMIN', 'BACKUP_ADMIN'].map((priv) => ({ ...its, priv }))
  const sql = {
    readAll: async () => [[{ name: 'account', columns: 'user,fingerprint' }], [{ ...right, ...more }], grants, [], []],
    read: async () => [its],
  } as unknown as Sql
  return (await lackingOf(sql, needs)).length
}

describe('The account of a replica', () => {
  it('may be locked: that is its gate', async () => {
    expect(await lacks({})).toBe(0)
    expect(await lacks({ lifetime: 0, attempts: '0' })).toBe(0)
  })

  it.each<[string, Row]>([
    ['whose password is to expire one day', { lifetime: 90 }],
    ['that wrong passwords of anybody lock', { attempts: '3' }],
    ['whose password has expired', { bounds: 'YY' }],
    ['that is allowed only so many connections', { free: 0 }],
  ])('%s is put right before a replica comes again', async (_, changed) => {
    expect(await lacks(changed)).toBe(1)
  })

  it('is made so that neither time nor wrong passwords keep it out, as is that of the group', () => {
    const [, ofGate = ''] = accountsAnew([{ user: gate, host: '%' }], 'secret')
    const [, ofGroup = ''] = groupAccountStatements('word')
    for (const alter of [ofGate, ofGroup])
      expect(alter).toMatch(/ PASSWORD EXPIRE NEVER FAILED_LOGIN_ATTEMPTS 0 PASSWORD_LOCK_TIME 0\b/)
  })
})

describe('What an agent sees of locks and statements (performance_schema)', () => {
  const ofSight = needsOf({ cluster: 'shop', mode: 'semisync' }).filter(({ kind }) => kind === 'sight')

  /** A server on which these are switched off. */
  function server(off: readonly string[]) {
    const changes: string[] = []
    const sql = {
      readAll: async (statements: readonly string[]) => {
        expect(statements[4]).toContain('performance_schema.setup_instruments')
        return [[], [], [], [], off.map((name) => ({ name }))]
      },
      read: async () => [],
      change: async (statement: string) => void changes.push(statement),
    } as unknown as Sql
    const logged = () => Promise.reject(new Error('every server has its own'))
    const needs = new NeedsSql(ofSight, { sql, logged, logsRows: true, refusedLogins: async () => [], secret: 's' })
    return { needs, changes }
  }

  it('lacks nothing where a server is as it was started', async () => {
    const { needs, changes } = server([])
    expect(await needs.lacks()).toEqual([])
    await needs.supply({ schema: false })
    expect(changes).toEqual([])
  })

  it.each<[string, string]>([
    ['wait/lock/metadata/sql/mdl', 'setup_instruments'],
    ['transaction', 'setup_instruments'],
    ['statement/sql/drop_event', 'setup_instruments'],
    ['global_instrumentation', 'setup_consumers'],
    ['thread_instrumentation', 'setup_consumers'],
    ['events_statements_current', 'setup_consumers'],
    ['events_transactions_current', 'setup_consumers'],
  ])('is switched on again where a hand switched %s off, without the binary log', async (off, table) => {
    const { needs, changes } = server([off])
    expect(await needs.lacks()).toMatchObject([{ cure: 'its agent puts that right' }])
    await needs.supply({ schema: false })
    expect(changes).toHaveLength(1)
    expect(changes[0]).toContain(`UPDATE performance_schema.${table} SET ENABLED = 'YES'`)
  })

  it('sees all sessions again where a hand had it see some of them, those that are open among them', async () => {
    const { needs, changes } = server(['setup_actors'])
    expect((await needs.lacks()).map(({ what }) => String(what))).toEqual(['the sight of all sessions (setup_actors)'])
    await needs.supply({ schema: false })
    expect(changes.map((change) => /performance_schema\.(\w+)/.exec(change)?.[1])).toEqual([
      ...['setup_actors', 'setup_actors', 'threads'],
    ])
  })
})

it('A plugin that is not active is named, with the start that loads it again; nothing is changed for it', async () => {
  const ofPlugins = needsOf({ cluster: 'shop', mode: 'group' }).filter(({ kind }) => kind === 'plugin')
  const active = ['caching_sha2_password', 'rpl_semi_sync_source', 'rpl_semi_sync_replica', 'group_replication']
  const changes: string[] = []
  const sql = {
    readAll: async () => [[], [], [], active.map((name) => ({ name })), []],
    read: async () => [],
    change: async (statement: string) => void changes.push(statement),
  } as unknown as Sql
  const ports = { sql, logged: async () => undefined, logsRows: false, refusedLogins: async () => [], secret: 's' }
  const needs = new NeedsSql(ofPlugins, ports)
  expect(await needs.lacks()).toEqual([
    { what: 'plugin clone', for: 'copies', cure: 'the next start of its mysqld loads it again' },
  ])
  await needs.supply({ schema: true })
  expect(changes).toEqual([])
})
