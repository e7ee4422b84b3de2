import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Replicas that another hand opens for writes, with the binary log off: no GTID tells what was written. */
const shop = withCluster()
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
const opens = ['set global super_read_only = off', 'set global read_only = off', 'set sql_log_bin = 0']

async function keptAt(instance: string): Promise<string> {
  return shop.current.value(instance, 'select group_concat(id order by id) from app.kept')
}

async function seeded(instance: string): Promise<void> {
  const cluster = shop.current
  const found = async () => (await logOf(cluster, instance)).includes('seeded from')
  await cluster.until(`${instance} is seeded again`, found, 120_000)
}

it('A replica that was opened and written to is in doubt, leaves the sync set, and is a copy of another one afterwards', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  await cluster.sql(primary!, 'create table app.kept (id int primary key)', { user: 'client' })
  await cluster.sql(primary!, 'insert into app.kept values (1)', { user: 'client' })
  const [opened = ''] = await cluster.replicas()
  await cluster.until('it has the row', async () => (await keptAt(opened).catch(() => '')) === '1')
  const writer = await Writer.start(cluster)
  await byHand(cluster, opened, ...opens, 'insert into app.kept values (99)')
  await cluster.waitFor(`${opened} is in doubt`, ({ instances, sentence }) =>
    `${sentence} ${troublesOf(instances)}`.includes('was open for writes while it was no primary'),
  )
  await seeded(opened)
  await cluster.whole(3, 120_000)
  expect(await keptAt(opened)).toBe('1')
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 300_000)

it('Where all replicas were opened at once the primary goes on, and one after the other is healed', async () => {
  const cluster = shop.current
  const { primary, epoch } = await cluster.whole()
  const opened = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const before = await Promise.all(opened.map(async (name) => (await logOf(cluster, name)).length))
  await Promise.all(opened.map((name) => byHand(cluster, name, ...opens, 'insert into app.kept values (98)')))
  for (const [at, name] of opened.entries())
    await cluster.until(
      `${name} is seeded again`,
      async () => (await logOf(cluster, name)).slice(before[at]).includes('seeded from'),
      150_000,
    )
  expect(await cluster.whole(3, 120_000)).toMatchObject({ primary, epoch })
  for (const name of opened) expect(await keptAt(name)).toBe('1')
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 400_000)
