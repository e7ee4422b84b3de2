import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { askSupervisor } from '#local/supervisor/control.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

const uuids = () =>
  Promise.all([0, 1, 2].map((ordinal) => shop.current.value(`shop-${ordinal}`, 'select @@server_uuid')))

it('A new cluster has ordinal 0 as its primary and every other instance in the sync set', async () => {
  const view = await shop.current.whole()
  expect(view).toMatchObject({ primary: 'shop-0', epoch: 1, acks: 1, writable: true })
  expect([...view.syncSet].sort()).toEqual(['shop-1', 'shop-2'])
  expect(new Set(await uuids()).size).toBe(3)
})

it('A client writes at the primary and nowhere else, and reads what it wrote everywhere', async () => {
  const cluster = shop.current
  const as = { user: 'client' } as const
  await cluster.sql('shop-0', 'create table app.orders (id int primary key)', as)
  await cluster.sql('shop-0', 'insert into app.orders values (1)', as)
  for (const replica of ['shop-1', 'shop-2']) {
    await expect(cluster.sql(replica, 'insert into app.orders values (2)', as)).rejects.toMatchObject({ errno: 1290 })
    await cluster.until(
      `the row at ${replica}`,
      async () => (await cluster.sql(replica, 'select id from app.orders', as).catch(() => [])).length === 1,
    )
  }
})

it('A cluster that was taken down comes back with its servers and its data; nothing is initialised again', async () => {
  const cluster = shop.current
  const before = await uuids()
  expect(await cluster.regent('local', 'down', 'shop')).toMatchObject({ code: 0 })
  expect(await cluster.status()).toMatchObject({ state: 'down' })
  await cluster.upAgain()
  await cluster.whole()
  expect(await uuids()).toEqual(before)
  expect(await cluster.value(await cluster.primary(), 'select count(*) from app.orders')).toBe('1')
})

it('A lost record is rebuilt above every epoch there was, once all have answered, and the most advanced instance leads', async () => {
  const cluster = shop.current
  const { epoch, primary: lagging, syncSet } = await cluster.whole()
  const leading = syncSet[0]!
  await cluster.switchover({ to: leading })
  await cluster.whole()
  const manager = (command: 'start' | 'stop') =>
    askSupervisor(cluster.layout.control, { command, process: managerProcess }, 30_000)
  const survivors = ['shop-0', 'shop-1', 'shop-2'].filter((name) => name !== lagging)
  await cluster.fault(lagging!, 'kill')
  await cluster.sql(leading, 'insert into app.orders values (3)', { user: 'client' })
  await manager('stop')
  await Promise.all(survivors.map((name) => cluster.fault(name, 'kill')))
  await rm(cluster.layout.records, { recursive: true })
  await manager('start')
  await Promise.all(survivors.map((name) => cluster.fault(name, 'start')))
  const waiting = await cluster.waitFor(`only ${lagging} is waited for`, ({ sentence }) =>
    sentence.startsWith(`waiting for the agents of ${lagging} before anything is believed: the record is lost`),
  )
  expect(waiting).toMatchObject({ blocked: true, primary: null, writable: false })
  expect(troublesOf(waiting.instances)).not.toContain('a person must decide')
  for (const { name, reachable } of waiting.instances) {
    expect(reachable).toBe(survivors.includes(name))
    await expect(cluster.sql(name, 'insert into app.orders values (4)', { user: 'client' })).rejects.toThrow()
  }
  await cluster.fault(lagging!, 'start')
  const after = await cluster.whole()
  expect(after.primary).not.toBe(lagging)
  expect(after.epoch).toBeGreaterThan(epoch + 1)
  for (const name of ['shop-0', 'shop-1', 'shop-2']) {
    await cluster.until(
      `both rows at ${name}`,
      async () => (await cluster.value(name, 'select count(*) from app.orders')) === '2',
    )
  }
})
