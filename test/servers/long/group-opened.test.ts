import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Members that another hand opens for writes: with a single primary a group certifies nothing of what they write. */
const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
const opens = ['set global super_read_only = off', 'set global read_only = off']

async function keptAt(instance: string): Promise<string> {
  return shop.current.value(instance, 'select group_concat(value order by id) from app.kept')
}

async function isMadeAgain(instance: string, since: number): Promise<void> {
  const cluster = shop.current
  const found = async () => (await logOf(cluster, instance)).slice(since).includes('seeded from')
  await cluster.until(`${instance} is seeded again`, found, 120_000)
  await cluster.whole(3, 150_000)
}

async function lengthOfLog(instance: string): Promise<number> {
  return (await logOf(shop.current, instance)).length
}

async function says(instance: string, what: string, since: number): Promise<void> {
  const found = async () => (await logOf(shop.current, instance)).slice(since).includes(what)
  await shop.current.until(`${instance} says "${what}"`, found, 30_000)
}

it('A new group has nobody in doubt, also after a switchover', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  await cluster.sql(primary!, 'create table app.kept (id int primary key, value int)', { user: 'client' })
  await cluster.sql(primary!, 'insert into app.kept values (1, 10)', { user: 'client' })
  const writer = await Writer.start(cluster)
  for (const to of [...(await cluster.replicas()), primary!]) {
    expect(await cluster.switchover({ to })).toMatchObject({ done: true })
    await cluster.whole()
  }
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
  for (const name of all) expect(await logOf(cluster, name)).not.toContain('by another hand while it was no primary')
})

it('A secondary that was opened and changed with the binary log off leaves the group, and is a copy of another member afterwards', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [opened = ''] = await cluster.replicas()
  const since = await lengthOfLog(opened)
  const writer = await Writer.start(cluster)
  await byHand(cluster, opened, ...opens, 'set sql_log_bin = 0', 'update app.kept set value = 999')
  await says(opened, 'this instance was opened for writes by another hand while it was no primary', since)
  await isMadeAgain(opened, since)
  for (const name of all) expect(await keptAt(name)).toBe(await keptAt(primary!))
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 400_000)

it('A secondary that was opened, written to and closed again between two looks is in doubt as well', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [opened = ''] = await cluster.replicas()
  const since = await lengthOfLog(opened)
  await cluster.fault(opened, 'freeze-agent')
  await byHand(cluster, opened, ...opens, 'insert into app.kept values (2, 20)', 'set global super_read_only = on')
  await cluster.fault(opened, 'thaw-agent')
  await says(opened, '1 transaction began here by another hand while it was no primary', since)
  await isMadeAgain(opened, since)
  for (const name of all) expect(await keptAt(name)).toBe(await keptAt(primary!))
}, 400_000)

it('Both secondaries that are opened at once are seeded one after the other, and the primary serves meanwhile', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole()
  const opened = await cluster.replicas()
  const since = new Map(await Promise.all(opened.map(async (name) => [name, await lengthOfLog(name)] as const)))
  const writer = await Writer.start(cluster)
  await Promise.all(
    opened.map((name, at) =>
      byHand(cluster, name, ...opens, 'set sql_log_bin = 0', `update app.kept set value = ${at}`),
    ),
  )
  for (const name of opened) await isMadeAgain(name, since.get(name) ?? 0)
  expect(await cluster.whole(3, 240_000)).toMatchObject({ epoch, primary })
  for (const name of opened) expect(await keptAt(name)).toBe(await keptAt(primary!))
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 600_000)

it('A secondary in doubt is elected last, and nobody switches over to it', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const replicas = await cluster.replicas()
  const uuids = await Promise.all(
    replicas.map(async (name) => ({ name, uuid: await cluster.value(name, 'select @@server_uuid') })),
  )
  const [first, second] = uuids.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1)).map(({ name }) => name)
  expect(await cluster.regent('pause', 'shop')).toMatchObject({ code: 0 })
  const since = await lengthOfLog(first!)
  await byHand(cluster, first!, ...opens)
  const weight = 'select @@global.group_replication_member_weight'
  await cluster.until('its weight is 0', async () => (await cluster.value(first!, weight)) === '0')
  await expect(cluster.switchover({ to: first! })).rejects.toMatchObject({
    message: expect.stringContaining('was open for writes while it was no primary') as string,
  })
  await cluster.fault(primary!, 'kill-mysqld')
  await cluster.waitFor(`${second} leads`, (view) => view.primary === second && view.writable, 30_000)
  expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
  await isMadeAgain(first!, since)
  await cluster.until('its weight is 50 again', async () => (await cluster.value(first!, weight)) === '50')
}, 400_000)
