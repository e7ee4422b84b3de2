import { describe, expect, it } from 'vitest'
import { uuidOf } from '#topology/testing.ts'
import type { Row } from '../connections/statements.ts'
import { GroupAccount } from './group-account.ts'
import { GroupSql, groupFrom, receivedFromGroup } from './group.ts'
import type { QueryOptions } from '../connections/pool.ts'
import type { Sql } from '../connections/statements.ts'

const row = (values: Row): Row => values
const own = row({
  isOwn: 1,
  uuid: uuidOf('shop-0'),
  host: '127.24.1.1',
  port: 3306,
  state: 'ONLINE',
  role: 'PRIMARY',
  version: '9.7.4',
})
const other = row({
  ...own,
  isOwn: 0,
  uuid: uuidOf('shop-1'),
  host: '127.24.1.2',
  state: 'RECOVERING',
  role: 'SECONDARY',
})
const stats = row({ viewId: '17321:5', certifying: 2, applying: 7, proposed: 3 })
const facts = row({
  name: 'a-group',
  consistency: 'AFTER',
  weight: 50,
  received: 'aaaa:1-3,\nbbbb:1',
  applierError: null,
  connectionError: null,
})

describe('What a server says of its group', () => {
  it('is its own state, its view, and everybody of the view', () => {
    expect(groupFrom([[own, other], [stats], [facts]])).toEqual({
      name: 'a-group',
      consistency: 'AFTER',
      state: 'ONLINE',
      viewId: '17321:5',
      members: [
        { uuid: uuidOf('shop-0'), host: '127.24.1.1', port: 3306, state: 'ONLINE', role: 'PRIMARY', version: '9.7.4' },
        {
          uuid: uuidOf('shop-1'),
          host: '127.24.1.2',
          port: 3306,
          state: 'RECOVERING',
          role: 'SECONDARY',
          version: '9.7.4',
        },
      ],
      certifying: 2,
      applying: 7,
      proposed: 3,
      weight: 50,
      lagSeconds: null,
      error: '',
    })
  })

  it('is the same in texts and in buffers, as the protocol gives them', () => {
    const texts = row({ ...own, isOwn: '1', port: '3306', state: Buffer.from('ONLINE') })
    expect(groupFrom([[texts], [stats], [facts]])).toMatchObject({ state: 'ONLINE', members: [{ port: 3306 }] })
  })

  it('is OFFLINE, with nobody, where the group was never started', () => {
    const never = row({ isOwn: 0, uuid: '', host: '', port: null, state: 'OFFLINE', role: '', version: '' })
    expect(groupFrom([[never], [], [row({ name: '', consistency: 'EVENTUAL', received: null })]])).toEqual({
      name: '',
      consistency: 'EVENTUAL',
      state: 'OFFLINE',
      viewId: '',
      members: [],
      certifying: 0,
      applying: 0,
      proposed: 0,
      weight: 0,
      lagSeconds: null,
      error: '',
    })
  })

  it('is its own state, whoever else the view shows', () => {
    const expelled = row({ ...own, state: 'ERROR', role: '' })
    expect(groupFrom([[row({ ...other, state: 'ONLINE' }), expelled], [stats], [facts]]).state).toBe('ERROR')
  })

  it('is how long ago was committed what is just applied, and nothing where nothing is', () => {
    const lagOf = (lagMicros: string | null, applying = 1) =>
      groupFrom([[own], [row({ ...stats, applying })], [row({ ...facts, lagMicros })]]).lagSeconds
    expect([lagOf('40260000'), lagOf('-5000'), lagOf(null), lagOf('40260000', 0)]).toEqual([40.3, 0, null, null])
  })

  it('is OFFLINE where it is in no view', () => {
    expect(groupFrom([[other], [stats], [facts]]).state).toBe('OFFLINE')
  })

  it('names what its channels reported as an error, and whether applying stopped at that', () => {
    const stateOf = (more: Row) => groupFrom([[own], [stats], [row({ ...facts, ...more })]])
    const cannotApply = { error: 'duplicate key', applierError: 'duplicate key' }
    expect(stateOf({ applierError: 'duplicate key', connectionError: 'lost' })).toMatchObject(cannotApply)
    const cannotConnect = stateOf({ connectionError: 'the donor refused' })
    expect(cannotConnect).toMatchObject({ error: 'the donor refused' })
    expect(cannotConnect).not.toHaveProperty('applierError')
  })

  it('holds what the group has sent, without white space', () => {
    expect(receivedFromGroup([[own], [stats], [facts]])).toBe('aaaa:1-3,bbbb:1')
    expect(receivedFromGroup([[own], [stats], [row({ received: null })]])).toBe('')
  })
})

/** A server that notes what it is told, and refuses statements that begin so. */
function scripted({ version = '9.7.4', refuses = '' }: { version?: string; refuses?: string } = {}) {
  const told: string[] = []
  const tell = async (statement: string, deadlineMs?: number): Promise<readonly Row[]> => {
    told.push(deadlineMs === undefined ? statement : `${statement} within ${deadlineMs}`)
    if (refuses !== '' && statement.startsWith(refuses)) throw new Error('refused')
    return []
  }
  const sql = {
    change: tell,
    changeUnbroken: async (statement: string) => tell(statement),
    read: async () => [row({ version, concurrency: 10 })],
    readAll: async () => [[facts], [row({ executed: 'aaaa:1-2' })]],
  } as unknown as Sql
  const agreeing = { query: (statement: string, { deadlineMs }: QueryOptions) => tell(statement, deadlineMs) }
  const logging = { query: (statement: string) => tell(`in the binlog: ${statement}`) }
  const account = new GroupAccount(async () => undefined)
  return { told, group: new GroupSql(sql, { agreeing, logging }, { account, password: "it's secret" }) }
}

it('A member has its group agree by a transaction that waits for that, and not for long', async () => {
  const { told, group } = scripted()
  await group.agree()
  expect(told).toEqual(['SELECT 1 FROM mysql.user LIMIT 0 within 300'])
})

const settings = { name: 'a-group', seeds: ['10.0.0.1:3306', '10.0.0.2:3306'], consistency: 'BEFORE' }
const configured = [
  "SET GLOBAL group_replication_group_name = 'a-group', GLOBAL group_replication_group_seeds = '10.0.0.1:3306,10.0.0.2:3306', GLOBAL group_replication_consistency = 'BEFORE'",
  "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'regent_group', SOURCE_PASSWORD = 'it''s secret' FOR CHANNEL 'group_replication_recovery'",
]

describe('A member', () => {
  it('joins: never as one that forms a group', async () => {
    const { told, group } = scripted()
    await group.start(settings, false)
    expect(told).toEqual([
      ...configured,
      'SET GLOBAL group_replication_bootstrap_group = OFF',
      'START GROUP_REPLICATION',
    ])
  })

  it('forms the group, and could not do so a second time by itself', async () => {
    const { told, group } = scripted()
    await group.start(settings, true)
    expect(told).toEqual([
      ...configured,
      'SET GLOBAL group_replication_bootstrap_group = ON',
      'START GROUP_REPLICATION',
      'SET GLOBAL group_replication_bootstrap_group = OFF',
    ])
  })

  it('could not do so either where the start failed', async () => {
    const { told, group } = scripted({ refuses: 'START' })
    await expect(group.start(settings, true)).rejects.toThrow('refused')
    expect(told.at(-1)).toBe('SET GLOBAL group_replication_bootstrap_group = OFF')
  })

  it('leaves', async () => {
    const { told, group } = scripted()
    await group.stop()
    expect(told).toEqual(['STOP GROUP_REPLICATION'])
  })

  it('takes another consistency while it runs', async () => {
    const { told, group } = scripted()
    await group.setConsistency('AFTER')
    expect(told).toEqual(["SET GLOBAL group_replication_consistency = 'AFTER'"])
  })

  it('has the group speak another protocol, with a deadline', async () => {
    const { told, group } = scripted()
    await group.setProtocol('8.0.27', 20_000)
    expect(told).toEqual(["SELECT group_replication_set_communication_protocol('8.0.27') within 20000"])
  })

  it('has the group agree once more on the configuration that it has', async () => {
    const { told, group } = scripted()
    await group.repeatConfiguration()
    expect(told).toEqual(['SELECT group_replication_set_write_concurrency(10)'])
  })

  it('has the group go on with it alone, with a deadline, and persists nothing of that', async () => {
    const { told, group } = scripted()
    await group.leadAlone('a-uuid', 20_000)
    await group.forgetMode()
    expect(told).toEqual([
      "SELECT group_replication_switch_to_single_primary_mode('a-uuid') within 20000",
      'RESET PERSIST IF EXISTS group_replication_enforce_update_everywhere_checks',
      'RESET PERSIST IF EXISTS group_replication_single_primary_mode',
    ])
  })

  it('sets the account of the group for all, or for itself alone', async () => {
    const { told, group } = scripted()
    await group.setAccount(true)
    expect(told.length).toBeGreaterThan(1)
    expect(told.every((statement) => statement.startsWith('in the binlog: '))).toBe(true)
    const [all, own] = [told.splice(0).map((statement) => statement.slice('in the binlog: '.length)), told]
    await group.setAccount(false)
    expect(own).toEqual(all.map((statement) => `${statement} within 3000`))
    expect(all[1]).toContain("IDENTIFIED WITH caching_sha2_password BY 'it''s secret' REQUIRE NONE")
  })

  it('applies what an earlier life received, without a receiver', async () => {
    const { told, group } = scripted()
    await group.applyReceived()
    expect(told).toEqual(["START REPLICA SQL_THREAD FOR CHANNEL 'group_replication_applier'"])
  })

  it('holds what was executed, and what the group has sent', async () => {
    expect(await scripted().group.holds()).toEqual({ received: 'aaaa:1-3,bbbb:1', executed: 'aaaa:1-2', owned: '' })
  })

  it.each([
    ['8.0.26', "SELECT group_replication_set_as_primary('a-uuid') within 8000"],
    ['8.0.29', "SELECT group_replication_set_as_primary('a-uuid', 2) within 8000"],
    ['8.4.6', "SELECT group_replication_set_as_primary('a-uuid', 2) within 8000"],
    ['9.7.4', "SELECT group_replication_set_as_primary('a-uuid', 2) within 8000"],
  ])('of %s has the group elect another, with its grace in whole seconds', async (version, statement) => {
    const { told, group } = scripted({ version })
    await group.electPrimary('a-uuid', { graceMs: 1_200, deadlineMs: 8_000 })
    expect(told).toEqual([statement])
  })
})
