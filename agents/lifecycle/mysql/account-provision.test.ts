import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '#agents/testing.ts'
import { settable } from '#agents/testing-known.ts'
import { runBuiltIn } from '../built-in/run-built-in.ts'
import type { World } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { accountProvision } from './account-provision.ts'
import { accountStatements } from './account-statements.ts'

const statement =
  "CREATE USER IF NOT EXISTS '${KB_ACCOUNT_NAME}' IDENTIFIED BY '${KB_ACCOUNT_PASSWORD}'; GRANT SELECT ON *.* TO '$KB_ACCOUNT_NAME';"
const wish = { name: 'kbadmin', password: 'p;w', statement }

describe('statements of an account', () => {
  it('are told apart outside of quotes, with name and password filled in', () => {
    expect(accountStatements(wish)).toEqual([
      "CREATE USER IF NOT EXISTS 'kbadmin' IDENTIFIED BY 'p;w'",
      "GRANT SELECT ON *.* TO 'kbadmin'",
    ])
  })

  it('are taken as they are where the caller has filled them in', () => {
    const filled = "CREATE USER \"a;b\"@`%`\n  IDENTIFIED BY 'it''s'; FLUSH PRIVILEGES"
    expect(accountStatements({ ...wish, statement: filled })).toEqual([
      "CREATE USER \"a;b\"@`%` IDENTIFIED BY 'it''s'",
      'FLUSH PRIVILEGES',
    ])
  })

  it('keep a name or a password inside of its quotes', () => {
    expect(accountStatements({ ...wish, password: "x'; DROP USER 'a" })[0]).toBe(
      "CREATE USER IF NOT EXISTS 'kbadmin' IDENTIFIED BY 'x''; DROP USER ''a'",
    )
    expect(accountStatements({ ...wish, name: '$KB_ACCOUNT_PASSWORD' })[1]).toBe(
      "GRANT SELECT ON *.* TO '$KB_ACCOUNT_PASSWORD'",
    )
  })

  const refusals: readonly (readonly [string, Partial<typeof wish>, RegExp])[] = [
    ['nothing', { statement: ' ' }, /are needed/],
    ['no name', { name: '' }, /are needed/],
    ['other than accounts', { statement: 'SET GLOBAL read_only = OFF' }, /statement 1 of 1 is not about accounts/],
    [
      'a second one that is',
      { statement: "DROP USER 'a'; DROP DATABASE app" },
      /statement 2 of 2 is not about accounts/,
    ],
    ['a comment', { statement: "DROP USER 'a' /*! , 'b' */" }, /has a comment/],
    ['a comment to the end', { statement: "DROP USER 'a' -- x" }, /has a comment/],
    ['a quote without its end', { statement: "DROP USER 'a" }, /a quote without its end/],
    ['a backslash', { statement: String.raw`DROP USER 'a\'` }, /has a backslash/],
    ['a password with a backslash', { password: 'secret\\' }, /KB_ACCOUNT_PASSWORD has a backslash/],
    ['the agent', { statement: "ALTER USER 'regent'@'localhost' IDENTIFIED BY 'x'" }, /is about an account/],
    ['the agent without quotes', { statement: 'DROP USER Regent@localhost' }, /is about an account/],
    ['a replica', { statement: 'GRANT `regent_r_1` TO a' }, /is about an account/],
    ['the schema of Regent', { statement: "GRANT ALL ON regent.* TO 'a'" }, /is about an account or the schema/],
    ['a name of Regent', { name: 'regent_group' }, /is an account of Regent/],
    ['whoever runs them', { statement: "ALTER USER USER() IDENTIFIED BY 'x'" }, /is about the account that runs/],
    ['the current user', { statement: 'GRANT ALL ON *.* TO CURRENT_USER' }, /is about the account that runs/],
    ['an unknown variable', { statement: "DROP USER '${HOME}'" }, /names \$\{HOME\}/],
    [
      'a password outside of quotes',
      { statement: "CREATE USER 'a' IDENTIFIED BY $KB_ACCOUNT_PASSWORD" },
      /outside of quotes/,
    ],
  ]
  it.each(refusals)('about %s are refused, and no password is told', (_what, change, message) => {
    let said = ''
    try {
      accountStatements({ ...wish, ...change })
    } catch (error) {
      said = (error as Error).message
    }
    expect(said).toMatch(message)
    expect(said).not.toMatch(/p;w|secret/)
  })
})

async function provision(
  server: ScriptedServer,
  assignment: typeof primaryOfEpoch3 | typeof replicaOfEpoch3,
  { timers }: Pick<World, 'timers'> = realWorld,
) {
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, assignment })
  const action = accountProvision(parts)
  const parameters = { KB_ACCOUNT_NAME: wish.name, KB_ACCOUNT_PASSWORD: wish.password, KB_ACCOUNT_STATEMENT: statement }
  const patience = { deadlineMs: 1_000, signal: new AbortController().signal, timers }
  return { parts, call: () => runBuiltIn(action, parameters, patience) }
}

describe('accountProvision', () => {
  it('runs the statements at the open primary', async () => {
    const server = new ScriptedServer(aServerState())
    const { call } = await provision(server, primaryOfEpoch3)
    expect(await call()).toMatchObject({ ok: true })
    expect(server.calls).toEqual(accountStatements(wish))
  })

  it('changes nothing at a replica', async () => {
    const server = new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true }))
    const { call } = await provision(server, replicaOfEpoch3)
    expect(await call()).toEqual({
      ok: false,
      error: 'preconditionFailed',
      message: 'accounts are made at the primary, and shop-0 is not: this instance is a replica: preconditionFailed',
    })
    expect(server.calls).toEqual([])
  })

  it('goes on only while its server is the open primary', async () => {
    const server = new ScriptedServer(aServerState())
    const { parts, call } = await provision(server, primaryOfEpoch3)
    const mayGoOn: boolean[] = []
    server.provisionAccount = async (_name, _statements, terms) => {
      mayGoOn.push(terms.mayGoOn())
      settable(parts).guards.closed.lease = say`the lease ran out`
      mayGoOn.push(terms.mayGoOn())
    }
    await call()
    expect(mayGoOn).toEqual([true, false])
  })

  it('makes no account whose caller was told meanwhile that the time is over', async () => {
    const world = virtualWorld()
    const server = new ScriptedServer(aServerState())
    const { call } = await provision(server, primaryOfEpoch3, world)
    const { promise: acknowledged, resolve: acknowledge } = Promise.withResolvers<undefined>()
    let begun = 0
    server.provisionAccount = async () => {
      begun += 1
      await acknowledged
    }
    const calls = [call(), call()]
    await world.advance(1_000)
    expect(await Promise.all(calls)).toMatchObject([{ error: 'timedOut' }, { error: 'timedOut' }])
    acknowledge(undefined)
    await world.settle()
    expect(begun).toBe(1)
  })

  it('makes one account after the other', async () => {
    const server = new ScriptedServer(aServerState())
    const { call } = await provision(server, primaryOfEpoch3)
    let underWay = 0
    let most = 0
    server.provisionAccount = async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(setImmediate)
      underWay -= 1
    }
    const results = await Promise.all([call(), call(), call()])
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true])
    expect(most).toBe(1)
  })
})
