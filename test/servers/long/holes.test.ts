import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()
const all = ['shop-0', 'shop-1', 'shop-2']

async function leadBy(cluster: TestCluster, to: string): Promise<void> {
  if ((await cluster.primary()) !== to) await cluster.switchover({ to })
  await cluster.whole()
}

function write(cluster: TestCluster, instance: string, ...statements: readonly string[]): Promise<void> {
  return statements.reduce<Promise<void>>(async (before, statement) => {
    await before
    await cluster.sql(instance, statement, { user: 'client' })
  }, Promise.resolve())
}

/** What each instance has of a table, once each has executed what the primary has. */
async function idsEverywhere(cluster: TestCluster, table: string): Promise<readonly string[]> {
  const executed = await cluster.value(await cluster.primary(), 'select @@global.gtid_executed')
  return Promise.all(
    all.map(async (name) => {
      await cluster.until(
        `${name} has executed what the primary has`,
        async () => (await cluster.value(name, `select gtid_subset('${executed}', @@global.gtid_executed)`)) === '1',
      )
      return cluster.value(name, `select group_concat(id order by id) from app.${table}`)
    }),
  )
}

async function serverIds(cluster: TestCluster): Promise<readonly string[]> {
  return Promise.all(all.map((name) => cluster.value(name, 'select @@global.server_id')))
}

it('An instance that was primary, lost its volume and comes back by the binlogs gets its own old writes as well', async () => {
  const cluster = shop.current
  await cluster.whole()
  await leadBy(cluster, 'shop-1')
  await write(cluster, 'shop-1', 'create table app.own (id int primary key)')
  await leadBy(cluster, 'shop-0')
  await write(cluster, 'shop-0', 'insert into app.own values (1)', 'insert into app.own values (2)')
  await leadBy(cluster, 'shop-1')
  const before = await serverIds(cluster)
  // As the operations page says.
  const { volume } = await cluster.instance('shop-0')
  await cluster.fault('shop-0', 'kill')
  for (const name of ['data', 'agent']) await rm(join(volume, name), { recursive: true })
  await cluster.fault('shop-0', 'start')
  await cluster.waitFor('the others go on without it', ({ writable, syncSet }) => writable && syncSet.length === 1)
  await write(cluster, 'shop-1', 'insert into app.own values (3)')
  await cluster.whole()
  expect(await idsEverywhere(cluster, 'own')).toEqual(['1,2,3', '1,2,3', '1,2,3'])
  const now = await serverIds(cluster)
  expect(new Set([...before, ...now]).size).toBe(4)
  expect(now.slice(1)).toEqual(before.slice(1))
}, 180_000)

it('A former primary whose data is removed while it runs comes back with everything, and counts', async () => {
  const cluster = shop.current
  // Its applier would stop at a write to a table that it lacks.
  await leadBy(cluster, 'shop-1')
  await write(cluster, 'shop-1', 'create table app.removed (id int primary key)')
  await leadBy(cluster, 'shop-2')
  await write(cluster, 'shop-2', 'insert into app.removed values (1)')
  await leadBy(cluster, 'shop-1')
  const { volume, pid } = await cluster.instance('shop-2')
  await rm(join(volume, 'data'), { recursive: true })
  await cluster.fault('shop-2', 'kill-mysqld')
  await cluster.otherMysqld('shop-2', pid)
  await write(cluster, 'shop-1', 'insert into app.removed values (2)')
  await cluster.whole()
  expect(await idsEverywhere(cluster, 'removed')).toEqual(['1,2', '1,2', '1,2'])
}, 180_000)

it('A replica that counts and is passed over leaves the sync set, is named, seeded again and counts with everything', async () => {
  const cluster = shop.current
  await leadBy(cluster, 'shop-1')
  await write(cluster, 'shop-1', 'create table app.skipped (id int primary key)')
  await cluster.whole()
  const [, own = '', replica = ''] = await serverIds(cluster)
  const uuid = await cluster.value('shop-2', 'select @@server_uuid')
  // A session takes the number that the server has when the session begins.
  await byHand(cluster, 'shop-1', `set global server_id = ${replica}`)
  await write(cluster, 'shop-1', 'insert into app.skipped values (1)')
  await cluster.until(
    'the number of the primary is put right',
    async () => (await cluster.value('shop-1', 'select @@global.server_id')) === own,
  )
  await write(cluster, 'shop-1', 'insert into app.skipped values (2)')
  await cluster.until(
    'shop-2 is a copy',
    async () => (await cluster.value('shop-2', 'select @@server_uuid').catch(() => uuid)) !== uuid,
    90_000,
  )
  await cluster.whole()
  expect(await idsEverywhere(cluster, 'skipped')).toEqual(['1,2', '1,2', '1,2'])
}, 180_000)
