import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { archivesOf, logOf } from '#test/support/instance-files.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { killAndSlowDown, untilCopying } from '#test/support/slow-copies.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** An empty instance is always seeded by CLONE here. */
const shop = withCluster({ spec: { cloneAboveTransactions: 0 } })

async function timesSeeded(cluster: TestCluster, name: string): Promise<number> {
  return (await logOf(cluster, name)).split('seeded from shop-').length - 1
}

/**
 * Kills it in the middle of the copy that has begun, and has it seeded to the end; meanwhile it never counts, and
 * nothing runs on what is there.
 */
async function interruptAndResume(cluster: TestCluster, name: string): Promise<void> {
  const before = await timesSeeded(cluster, name)
  await untilCopying(cluster, name)
  let counted = false
  const unsubscribe = cluster.views.subscribe(({ syncSet }) => (counted ||= syncSet.includes(name)))
  await cluster.fault(name, 'kill')
  expect(await timesSeeded(cluster, name)).toBe(before)
  // Nobody tells it to be seeded again before it was seen what it does by itself.
  await cluster.regent('pause', cluster.name)
  await cluster.fault(name, 'start')
  const waits = await cluster.waitFor(
    `${name} waits`,
    ({ instances }) =>
      instances.some(
        (row) =>
          row.name === name &&
          row.reachable &&
          row.problems.some(
            ({ sentence }) => sentence === 'mysqld stays down: a seeding has not ended; it waits to be seeded again',
          ),
      ),
    60_000,
  )
  expect(waits.instances.find((row) => row.name === name)).toMatchObject({
    inSyncSet: false,
    process: expect.stringMatching(/^(absent|dead)$/) as string,
  })
  await cluster.regent('resume', cluster.name)
  await untilCopying(cluster, name)
  unsubscribe()
  expect(counted).toBe(false)
  await cluster.until(`${name} is seeded`, async () => (await timesSeeded(cluster, name)) === before + 1, 150_000)
  await cluster.whole(3, 150_000)
}

it('A replica that dies with its agent in the middle of a copy that replaces its volume holds nothing, never counts, and is seeded again to the end', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [name = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await killAndSlowDown(cluster, name)
  await loseVolume(cluster, name)
  await cluster.fault(name, 'start')
  await interruptAndResume(cluster, name)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 400_000)

it('… and in the middle of one that replaces its own errant data, which are still there and believed no more', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [name = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const uuid = await cluster.value(name, 'select @@server_uuid')
  const { pid } = await cluster.instance(name)
  await killAndSlowDown(cluster, name)
  await cluster.fault(name, 'start')
  await cluster.otherMysqld(name, pid)
  await cluster.whole()
  await byHand(cluster, name, 'set global super_read_only = off', 'create table app.errant (id int primary key)')
  await interruptAndResume(cluster, name)
  expect((await archivesOf(cluster, name)).map(({ description }) => description.kind)).toEqual(['errant'])
  await expect(cluster.sql(name, 'select * from app.errant')).rejects.toMatchObject({ errno: 1146 })
  expect(await cluster.value(name, 'select @@server_uuid')).not.toBe(uuid)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 400_000)
