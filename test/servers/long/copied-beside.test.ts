import { existsSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { byHand, byQuickHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { archivesOf, logOf } from '#test/support/instance-files.ts'
import { killAndSlowDown, untilCopying } from '#test/support/slow-copies.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Of two instances the sync set can never spare the replica. */
const pair = withCluster({ name: 'pair', instances: 2 })

/** It stands by: nobody can tell any more what it holds. */
function resetGtids(cluster: TestCluster, replica: string): Promise<void> {
  return byQuickHand(cluster, replica, 'reset binary logs and gtids')
}

async function besideDirOf(cluster: TestCluster, name: string): Promise<string> {
  return volumeLayout((await cluster.instance(name)).volume).besideDir
}

it('The only replica, whose GTIDs somebody reset, is copied beside what it has; then writes go on by themselves', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  let counted = true
  const unsubscribe = cluster.views.subscribe(({ syncSet }) => (counted &&= syncSet.includes(replica)))
  await resetGtids(cluster, replica)
  await cluster.waitFor(
    'it is said how',
    ({ sentence }) =>
      sentence.includes('the sync set cannot spare it: it is copied from pair-0 beside what it has') ||
      /is seeded from pair-0 \(/.test(sentence),
    60_000,
  )
  await cluster.until(
    `${replica} is a copy`,
    async () => (await cluster.value(replica, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    60_000,
  )
  await cluster.whole(2)
  await writer.next()
  unsubscribe()
  expect(counted).toBe(true)
  await cluster.until('what it had is gone', async () => !existsSync(await besideDirOf(cluster, replica)))
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})

it('The only replica, on which somebody wrote, goes on acknowledging, nothing is closed for it, and it is seeded again once another one counts', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const primary = await cluster.primary()
  const writer = await Writer.start(cluster)
  await byQuickHand(
    cluster,
    replica,
    'set global super_read_only = off',
    'create table app.errant (id int primary key)',
  )
  await cluster.waitFor('it is said', ({ sentence }) =>
    /^pair-1 has 1 errant transaction \(.*\) and goes on acknowledging: too few others can/.test(sentence),
  )
  await writer.next()
  expect(await cluster.view()).toMatchObject({ primary, syncSet: [replica], writable: true })
  await cluster.scale(3)
  await cluster.until(
    `${replica} is a copy`,
    async () => (await archivesOf(cluster, replica)).some(({ description }) => description.kind === 'errant'),
    120_000,
  )
  await cluster.whole(3, 120_000)
  await expect(cluster.sql(replica, 'select * from app.errant')).rejects.toMatchObject({ errno: 1146 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  await cluster.scale(2)
}, 300_000)

it('When its agent dies before the copy is proven, what it had is in its place again, and it is copied once more', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const { agentPid } = await cluster.instance(replica)
  const beside = await besideDirOf(cluster, replica)
  await resetGtids(cluster, replica)
  for (const until = Date.now() + 60_000; !existsSync(beside); await immediate())
    if (Date.now() > until) throw new Error('nothing was swapped')
  process.kill(agentPid ?? 0, 'SIGKILL')
  await cluster.until(
    'what was there before is back',
    async () => (await logOf(cluster, replica)).includes('a copy was not proven'),
    60_000,
  )
  await cluster.whole(2, 120_000)
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
}, 240_000)

it('A primary whose default collation somebody changed is copied all the same: MySQL compares that of both', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  const before = await cluster.value(await cluster.primary(), 'select @@global.collation_server')
  await byHand(
    cluster,
    await cluster.primary(),
    `set global collation_server = 'latin1_german2_ci'`,
    `set global character_set_filesystem = 'latin1'`,
  )
  await resetGtids(cluster, replica)
  await cluster.until(
    `${replica} is a copy`,
    async () => (await cluster.value(replica, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    120_000,
  )
  await cluster.whole(2)
  // What the copy was made with does not outlive it.
  expect(await cluster.value(replica, 'select @@global.collation_server')).toBe(before)
}, 240_000)

it('When the primary dies while its only replica is copied, it leads again with all that was acknowledged, and the copy is made', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const primary = await cluster.primary()
  const { pid } = await cluster.instance(replica)
  await killAndSlowDown(cluster, replica)
  await cluster.fault(replica, 'start')
  await cluster.otherMysqld(replica, pid)
  await cluster.whole(2)
  const writer = await Writer.start(cluster)
  await resetGtids(cluster, replica)
  await untilCopying(cluster, replica)
  await cluster.fault(primary, 'kill')
  await cluster.fault(primary, 'start')
  await cluster.whole(2, 150_000)
  await writer.next()
  expect(await cluster.primary()).toBe(primary)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
}, 400_000)
