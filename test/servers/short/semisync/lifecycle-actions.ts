import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ActionResponse } from '#agents/lifecycle/wire/calls.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { LifecycleService } from '#test/support/lifecycle-service.ts'
import { openSession, queryWithin } from '#test/support/sql-session.ts'
import { patienceMs } from '#test/support/patience.ts'
import type { SharedCluster } from '#test/support/with-cluster.ts'

function outputOf({ output = '' }: ActionResponse): string {
  return Buffer.from(output, 'base64').toString()
}

async function rolesUnder(cluster: TestCluster, primary: string): Promise<Readonly<Record<string, string>>> {
  const { instances } = await cluster.status()
  return Object.fromEntries(instances.map(({ name }) => [name, name === primary ? 'primary' : 'secondary']))
}

/** What an orchestrator’s agent is asked for, beside the agents of a cluster. */
export function lifecycleActions(shop: SharedCluster): void {
  const password = "it's a pass;word"
  let lifecycle: LifecycleService | undefined

  beforeAll(async () => {
    const cluster = shop.current
    await cluster.whole()
    lifecycle = await LifecycleService.begin(cluster)
  }, 120_000)

  afterAll(() => lifecycle?.end())

  function service(): LifecycleService {
    if (lifecycle === undefined) throw new Error('no agent serves lifecycle actions')
    return lifecycle
  }

  it('Agents say over HTTP who is primary, before and after a switchover', async () => {
    const cluster = shop.current
    const from = await cluster.primary()
    expect(await service().roles()).toEqual(await rolesUnder(cluster, from))
    const [to = ''] = await cluster.replicas()
    await cluster.switchover({ to })
    await cluster.whole()
    await cluster.until(`${to} says that it is the primary`, async () => (await service().roles())[to] === 'primary')
    await cluster.until('all say their roles', async () => !Object.values(await service().roles()).includes(''))
    expect(await service().roles()).toEqual(await rolesUnder(cluster, to))
    for (const action of ['healthyProbe', 'availableProbe'])
      expect(await service().output(from, { action })).toBe(action.replace('Probe', ''))
  })

  it('Of a frozen mysqld an agent cannot tell the role, which is another answer than no role', async () => {
    const cluster = shop.current
    const [name = ''] = await cluster.replicas()
    await cluster.fault(name, 'freeze-mysqld')
    try {
      const answer = await cluster.until(`${name} cannot tell`, async () => {
        const said = await service().call(name, { action: 'roleProbe' })
        return said.error !== undefined && said
      })
      expect(answer).toMatchObject({ error: 'failed' })
    } finally {
      await cluster.fault(name, 'thaw-mysqld')
    }
    await cluster.whole()
    await cluster.until(`${name} says its role again`, async () => (await service().roles())[name] === 'secondary')
  })

  it('An account is made at the primary alone, and one can log in with the account everywhere', async () => {
    const cluster = shop.current
    const primary = await cluster.primary()
    const [replica = ''] = await cluster.replicas()
    const provision = {
      action: 'accountProvision',
      parameters: {
        KB_ACCOUNT_NAME: 'kbadmin',
        KB_ACCOUNT_PASSWORD: password,
        KB_ACCOUNT_STATEMENT:
          "CREATE USER IF NOT EXISTS '${KB_ACCOUNT_NAME}' IDENTIFIED BY '${KB_ACCOUNT_PASSWORD}'; GRANT ALL PRIVILEGES ON *.* TO '${KB_ACCOUNT_NAME}' WITH GRANT OPTION;",
      },
    }
    expect(await service().call(replica, provision)).toMatchObject({ error: 'preconditionFailed' })
    expect(await service().call(primary, provision)).toEqual({})
    // Again: callers repeat what they had no answer to.
    expect(await service().call(primary, provision)).toEqual({})
    await cluster.whole()
    for (const name of [primary, replica]) {
      const { host, port } = await cluster.instance(name)
      const login = { host, port, user: 'kbadmin', password, ssl: { rejectUnauthorized: false } }
      const session = await openSession(login, patienceMs)
      const [row] = await queryWithin(session, 'select current_user() as me', patienceMs)
      expect(row).toEqual({ me: 'kbadmin@%' })
      if (name === primary)
        await expect(queryWithin(session, "alter user 'regent'@'localhost' account lock", patienceMs)).rejects.toThrow(
          'SYSTEM_USER',
        )
      session.destroy()
    }
  })

  it('A failure of an account names the error of the server, and neither answer nor log has the password', async () => {
    const cluster = shop.current
    const primary = await cluster.primary()
    const parameters = {
      KB_ACCOUNT_NAME: 'kbadmin',
      KB_ACCOUNT_PASSWORD: 'never-shown',
      KB_ACCOUNT_STATEMENT: 'CREATE USER "kbadmin" IDENTIFIED BY "${KB_ACCOUNT_PASSWORD}" NONSENSE',
    }
    const answer = await service().call(primary, { action: 'accountProvision', parameters })
    expect(answer).toEqual({
      error: 'failed',
      message: 'statement 1 of 1: the server’s error 1064 ER_PARSE_ERROR: failed',
    })
    const { stdout } = await cluster.regent('local', 'logs', 'shop', primary, '-n', '1000')
    expect(stdout).toContain('accountProvision')
    expect(stdout).not.toContain('never-shown')
  })

  it('A running server is reconfigured where Regent does not manage the setting', async () => {
    const cluster = shop.current
    const primary = await cluster.primary()
    const set = (parameters: Readonly<Record<string, string>>) =>
      service().call(primary, { action: 'reconfigure', parameters })
    expect(outputOf(await set({ 'max-connections': '321', long_query_time: '1.5', max_allowed_packet: '32M' }))).toBe(
      'set until mysqld starts again: max_connections, long_query_time, max_allowed_packet',
    )
    expect(await cluster.value(primary, 'select @@global.max_connections')).toBe('321')
    expect(Number(await cluster.value(primary, 'select @@global.long_query_time'))).toBe(1.5)
    expect(await cluster.value(primary, 'select @@global.max_allowed_packet')).toBe('33554432')
    expect(await set({ sync_binlog: '0' })).toMatchObject({ error: 'badRequest' })
    expect(await set({ innodb_page_size: '4096' })).toMatchObject({ error: 'failed' })
    expect(await cluster.value(primary, 'select @@global.sync_binlog')).toBe('1')
  })

  it('Nobody without the token is answered', async () => {
    const cluster = shop.current
    const { host } = await cluster.instance(await cluster.primary())
    const answered = await fetch(`http://${host}:3501/v1.0/action`, { method: 'POST', body: '{"action":"roleProbe"}' })
    expect(answered.status).toBe(401)
  })
}
