import { expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const mib = 1_048_576
const shop = withCluster({ spec: { keepBinlogsSeconds: 1, heldBinlogsBytes: 8 * mib } })

async function binlogsOf(cluster: TestCluster, instance: string): Promise<readonly string[]> {
  return (await cluster.sql(instance, 'show binary logs')).map((row) => String(row['Log_name']))
}

/** Rotates, and gives the file that was written to until now. */
async function rotate(cluster: TestCluster, instance: string): Promise<string> {
  const [name = ''] = (await binlogsOf(cluster, instance)).slice(-1)
  await cluster.sql(instance, 'flush binary logs')
  return name
}

async function untilPurged(cluster: TestCluster, instance: string, file: string): Promise<void> {
  await cluster.until(
    `${file} of ${instance} is purged`,
    async () => !(await binlogsOf(cluster, instance)).includes(file),
    15_000,
  )
}

it('Binlogs that every instance has are purged when their time has come, at the primary and at a replica', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await Promise.all(
    ['shop-0', 'shop-1'].map(async (instance) => untilPurged(cluster, instance, await rotate(cluster, instance))),
  )
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  await writer.next()
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Binlogs that a replica lacks are held beyond their time, and it comes back without being copied', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const uuid = await cluster.value('shop-2', 'select @@server_uuid')
  await cluster.fault('shop-2', 'kill')
  await writer.next(monotonicMs())
  const held = await rotate(cluster, 'shop-0')
  await writer.next(monotonicMs())
  const later = await rotate(cluster, 'shop-0')
  await cluster.until(
    'it is said for whom',
    async () =>
      (await logOf(cluster, 'shop-0')).includes(`binlogs from ${held} on are kept longer than asked for: shop-2 lacks`),
    15_000,
  )
  expect(await binlogsOf(cluster, 'shop-0')).toEqual(expect.arrayContaining([held, later]))
  await cluster.fault('shop-2', 'start')
  await cluster.whole()
  await untilPurged(cluster, 'shop-0', later)
  expect(await logOf(cluster, 'shop-2')).not.toContain('seeded from')
  expect(await cluster.value('shop-2', 'select @@server_uuid')).toBe(uuid)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Over the limit the oldest binlogs are purged although a replica lacks them, it is named, and seeded again', async () => {
  const cluster = shop.current
  await cluster.sql(
    'shop-0',
    'create table if not exists app.bulky (id int auto_increment primary key, content longblob)',
    { user: 'client' },
  )
  await cluster.whole()
  await cluster.fault('shop-2', 'kill')
  for (let megabytes = 0; megabytes < 10; megabytes += 1)
    await cluster.sql('shop-0', `insert into app.bulky (content) values (repeat('x', ${mib}))`, { user: 'client' })
  const lacked = await rotate(cluster, 'shop-0')
  await untilPurged(cluster, 'shop-0', lacked)
  const said = new RegExp(
    `${lacked} .*are purged, as more than 8.0 MiB of binlogs were there; who needed them is seeded again: shop-2 lacks`,
  )
  await cluster.until('it is said who needed them', async () => said.test(await logOf(cluster, 'shop-0')))
  await cluster.fault('shop-2', 'start')
  await cluster.whole()
  expect(await logOf(cluster, 'shop-2')).toContain('seeded from')
  expect(await cluster.value('shop-2', 'select count(*) from app.bulky')).toBe('10')
})
