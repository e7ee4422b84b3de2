import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { cloneAboveTransactions: 0 } })
const all = ['shop-0', 'shop-1', 'shop-2']

/** Makes an instance lead that was seeded by CLONE: the beginning of its data is in none of its binlogs. */
async function leadByCopy(cluster: TestCluster, instance: string): Promise<void> {
  await loseVolume(cluster, instance)
  await cluster.fault(instance, 'start')
  await cluster.until(
    `${instance} is a copy`,
    async () => (await cluster.value(instance, 'select @@global.gtid_purged').catch(() => '')) !== '',
    60_000,
  )
  await cluster.whole()
  await cluster.switchover({ to: instance })
  await cluster.whole()
}

/** The primary has what nobody else has: a write that nobody acknowledged. */
async function leaveTail(cluster: TestCluster, primary: string): Promise<void> {
  await Promise.all(all.filter((name) => name !== primary).map((name) => cluster.fault(name, 'kill')))
  const waits = cluster.sql(primary, 'create table if not exists app.tail (id int primary key)', { deadlineMs: 2_000 })
  await expect(waits).rejects.toThrow()
  await cluster.fault(primary, 'kill')
}

async function upWithoutRecord(cluster: TestCluster): Promise<void> {
  const down = await cluster.regent('local', 'down', cluster.name)
  expect(down.code).toBe(0)
  await rm(cluster.layout.records, { recursive: true })
}

it('A record that was lost is rebuilt by itself around a primary that was seeded by a copy', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await writer.next()
  const [copied = ''] = await cluster.replicas()
  await leadByCopy(cluster, copied)
  await writer.next()
  await writer.stop()
  await leaveTail(cluster, copied)
  await upWithoutRecord(cluster)
  await cluster.upAgain()
  const view = await cluster.whole()
  expect(view.primary).toBe(copied)
  expect(await cluster.value(copied, 'select count(*) from app.tail')).toBe('0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 300_000)

it('Where instances went separate ways and there is no record, a person chooses who leads and is told what is given up', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await writer.next()
  await writer.stop()
  const primary = await cluster.primary()
  const [stray = ''] = await cluster.replicas()
  await cluster.regent('pause', cluster.name)
  // Its agent closes it again in between, perhaps.
  const wrote = () =>
    byHand(cluster, stray, 'set global super_read_only = off', 'create table app.errant (id int primary key)').then(
      () => true,
      () => false,
    )
  await cluster.until('somebody wrote', wrote)
  const own = await cluster.value(stray, 'select @@server_uuid')
  await leaveTail(cluster, primary)
  await upWithoutRecord(cluster)
  const refused = await cluster.regent('local', 'up', cluster.name)
  expect(refused.stderr).toContain('no instance holds everything the others hold')
  expect(refused.stderr).toContain('regent failover --accept-loss --to <instance>')
  const explained = await cluster.regent('explain', cluster.name)
  expect(explained.stdout).toContain('there is none: it is made, or made anew, once it is known who holds everything')
  const dry = await cluster.regent('failover', cluster.name, '--accept-loss', '--to', primary, '--dry-run')
  expect(dry.stdout).toContain(
    `would make a record in which ${primary} leads; given up: one transaction of ${stray} that ${primary} lacks (${own}:`,
  )
  expect((await cluster.explain()).record).toBeNull()
  const ran = await cluster.regent('failover', cluster.name, '--accept-loss', '--to', primary)
  expect(ran).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${primary} leads; given up: one transaction of ${stray}`) as string,
  })
  const view = await cluster.whole(3, 120_000)
  expect(view.primary).toBe(primary)
  await expect(cluster.sql(stray, 'select * from app.errant')).rejects.toMatchObject({ errno: 1146 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 300_000)
