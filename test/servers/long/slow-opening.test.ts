import { expect, it } from 'vitest'
import { agentUser } from '#agents/instance/accounts.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { readSecret } from '#local/folder/secrets.ts'
import { openSession } from '#test/support/sql-session.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { policies: { 'shop-1': { promotion: 'prefer', priority: 0 } } } })

/** The agent's account: its sessions are no foreign ones, which a primary ends before it opens. */
async function heldTable(instance: string) {
  const cluster = shop.current
  const { host, port } = await cluster.instance(instance)
  const session = await openSession(
    { host, port, user: agentUser, password: passwordFor(await readSecret(cluster.layout.accountSecret), agentUser) },
    2_000,
  )
  await session.query('lock tables app.held read')
  return session
}

it('An elected primary whose applier does not get on says so, refuses a switchover, and gives way to a replica as soon as that has applied everything; nothing is lost', async () => {
  const cluster = shop.current
  await cluster.whole()
  await cluster.sql('shop-0', 'create table app.held (id int auto_increment primary key)', { user: 'client' })
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const { epoch } = await cluster.whole()
  const [held, other] = [await heldTable('shop-1'), await heldTable('shop-2')]
  await cluster.sql('shop-0', 'insert into app.held values ()', { user: 'client' })
  const waitsForLock = async (instance: string) =>
    Number(
      await cluster.value(
        instance,
        "select count(*) from performance_schema.metadata_locks where object_name = 'held' and lock_status = 'PENDING'",
      ),
    ) > 0
  for (const name of ['shop-1', 'shop-2'])
    await cluster.until(`the applier of ${name} waits for the lock`, async () => waitsForLock(name))
  const outage = writer.outageSince(await cluster.fault('shop-0', 'kill-mysqld'), 120_000)
  const waits = await cluster.waitFor(
    'it is said that the opening waits for so long that another one may lead',
    ({ sentence }) =>
      /shop-1 is elected and applies \d+ transactions? before it takes writes, for \d\d+ s/.test(sentence),
    40_000,
  )
  expect(waits).toMatchObject({ primary: 'shop-1', epoch: epoch + 1, writable: false })
  await expect(cluster.switchover()).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringMatching(/shop-1 is elected and applies .*use: regent failover/) as string,
  })
  const dry = await cluster.regent('failover', 'shop', '--to', 'shop-2', '--dry-run')
  expect(dry).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('dry run: would fail over: shop-1 is elected and applies') as string,
  })
  await cluster.waitFor(
    'it is said why nobody else is taken',
    ({ sentence }) => /nobody else is taken: .*shop-2 has \d+ transactions? to apply itself/.test(sentence),
    40_000,
  )
  expect(await cluster.view()).toMatchObject({ primary: 'shop-1', epoch: epoch + 1 })
  await other.query('unlock tables')
  await outage
  const view = await cluster.whole(3, 120_000)
  expect(view).toMatchObject({ primary: 'shop-2', writable: true })
  expect(view.epoch).toBeGreaterThan(epoch + 1)
  other.destroy()
  held.destroy()
  const [last] = await cluster.recoveries()
  expect(last?.sentence).toMatch(
    /failing over to shop-2, .*: shop-1 is elected and applies \d+ transactions? before it takes writes/,
  )
  expect(last?.timeline.map(({ what }) => what)).toContainEqual(
    expect.stringMatching(/^waits: shop-1 is elected and applies/),
  )
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
