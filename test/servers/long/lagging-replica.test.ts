import { expect, it } from 'vitest'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster({ spec: { failover: { windowMs: 0 }, maxLagSeconds: 2 } })

it('A replica whose applier is held goes on counting, is named as behind with its figures, is refused as candidate, and is whole again once it has caught up', async () => {
  const cluster = shop.current
  await cluster.whole()
  await cluster.sql('shop-0', 'create table if not exists app.held (id int auto_increment primary key)', {
    user: 'client',
  })
  await cluster.whole()
  const holder = await cluster.session('shop-2')
  await holder.query('lock tables app.held read')
  await cluster.sql('shop-0', 'insert into app.held values ()', { user: 'client' })
  const said = /; shop-2 is \d+ s behind with 1 transaction to apply$/
  const view = await cluster.waitFor('it is named', ({ sentence }) => said.test(sentence), 20_000)
  const row = view.instances.find(({ name }) => name === 'shop-2')
  expect(row).toMatchObject({
    inSyncSet: true,
    behind: true,
    problems: [{ code: 'ReplicaLagging' }],
  })
  expect(troublesOf(view.instances, 'shop-2')).toMatch(
    /^replica shop-2 is \d+ s behind with 1 transaction to apply; 2 s are allowed$/,
  )
  expect(view).toMatchObject({ writable: true, blocked: false })
  expect(view.syncSet.toSorted()).toEqual(['shop-1', 'shop-2'])
  await expect(cluster.switchover({ to: 'shop-2' })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('shop-2 lags') as string,
  })
  await holder.query('unlock tables')
  await holder.end()
  const whole = await cluster.waitFor('it has caught up', ({ sentence }) => !sentence.includes('behind'), 10_000)
  expect(whole.instances.every(({ behind }) => !behind)).toBe(true)
})
