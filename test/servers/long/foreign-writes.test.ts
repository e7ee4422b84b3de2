import { expect, it } from 'vitest'
import { byQuickHand } from '#test/support/by-hand.ts'
import { ForeignWriters, foreignUuid } from '#test/support/foreign-writers.ts'
import { archivesOf } from '#test/support/instance-files.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

it('Replicas of a primary whose 16 clients write with GTIDs of another server are never called errant, and go on counting', async () => {
  const cluster = shop.current
  await cluster.whole()
  const replicas = await cluster.replicas()
  const uuids = await Promise.all(replicas.map((name) => cluster.value(name, 'select @@server_uuid')))
  const said = new Set<string>()
  const unsubscribe = cluster.views.subscribe(({ sentence, syncSet, instances }) => {
    for (const one of [sentence, ...troublesOf(instances).split('; ')]) if (/errant|has not:/.test(one)) said.add(one)
    if (syncSet.length < replicas.length) said.add(`the sync set is ${syncSet.join()}`)
  })
  const writers = await ForeignWriters.start(cluster, 16)
  await writers.until(6_000)
  const last = await writers.stop()
  await cluster.whole()
  unsubscribe()
  expect([...said]).toEqual([])
  for (const [at, replica] of replicas.entries()) {
    expect(await cluster.value(replica, 'select @@server_uuid')).toBe(uuids[at])
    expect(await archivesOf(cluster, replica)).toEqual([])
    await cluster.until(
      `${replica} has applied everything`,
      async () => (await cluster.value(replica, 'select count(*) from app.foreign_writes')) === String(last),
    )
  }
})

it('A transaction with a GTID of that other server, made at a replica by hand beside such writes, is found, archived, and the replica seeded again', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [replica = ''] = await cluster.replicas()
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  const writers = await ForeignWriters.start(cluster, 4, 1_000_000)
  await writers.until(50)
  await byQuickHand(
    cluster,
    replica,
    'set global super_read_only = off',
    `set gtid_next = '${foreignUuid}:9000000'`,
    'create table app.by_hand_abroad (id int primary key)',
    `set gtid_next = 'automatic'`,
  )
  await cluster.until(
    `${replica} is a copy`,
    async () => (await cluster.value(replica, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    120_000,
  )
  await writers.stop()
  await cluster.whole()
  const archived = await archivesOf(cluster, replica)
  expect(archived.map(({ description }) => description.gtids).join()).toContain(':9000000')
})
