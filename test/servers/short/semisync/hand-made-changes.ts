import { expect, it } from 'vitest'
import { byHand, byQuickHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { Writer } from '#test/support/writer.ts'
import type { SharedCluster } from '#test/support/with-cluster.ts'

async function putRight(cluster: TestCluster, instance: string, query: string, wanted: string): Promise<void> {
  await cluster.until(
    `${query} at ${instance} is ${wanted}`,
    async () => (await cluster.value(instance, query).catch(() => undefined)) === wanted,
  )
}

async function reported(cluster: TestCluster, instance: string, words: RegExp): Promise<void> {
  await cluster.until(`${instance} reports ${String(words)}`, async () => words.test(await logOf(cluster, instance)))
}

/** Another server uuid than before shows that it is. */
async function isCopy(cluster: TestCluster, instance: string, uuid: string): Promise<void> {
  await cluster.until(
    `${instance} is a copy`,
    async () => (await cluster.value(instance, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    60_000,
  )
  await cluster.whole()
}

/** What another hand changes is put right, on a cluster that shop-0 leads. */
export function handMadeChanges(shop: SharedCluster): void {
  it('A replica that somebody made writable is read-only again, which is reported, and is made a copy: who knows what was written', async () => {
    const cluster = shop.current
    await cluster.whole()
    const uuid = await cluster.value('shop-1', 'select @@server_uuid')
    await byHand(cluster, 'shop-1', 'set global read_only = off')
    await putRight(cluster, 'shop-1', 'select @@global.super_read_only', '1')
    await reported(cluster, 'shop-1', /read.only/)
    await isCopy(cluster, 'shop-1', uuid)
  })

  it('A primary that somebody made read-only or took offline takes writes again', async () => {
    const cluster = shop.current
    await byHand(cluster, 'shop-0', 'set global super_read_only = on')
    await putRight(cluster, 'shop-0', 'select @@global.super_read_only', '0')
    await byHand(cluster, 'shop-0', 'set global offline_mode = on')
    await putRight(cluster, 'shop-0', 'select @@global.offline_mode', '0')
    await reported(cluster, 'shop-0', /by another hand/)
    await cluster.sql('shop-0', 'create table app.by_hand (id int primary key)', { user: 'client' })
  })

  it('Semi-sync that somebody switched off at the primary is on again, which is reported, and the replicas count', async () => {
    const cluster = shop.current
    await byHand(cluster, 'shop-0', 'set global rpl_semi_sync_source_enabled = off')
    await putRight(cluster, 'shop-0', 'select @@global.rpl_semi_sync_source_enabled', '1')
    await reported(cluster, 'shop-0', /writes wait for 1 acknowledgement again/)
    await cluster.whole()
    await cluster.sql('shop-0', 'insert into app.by_hand values (1)', { user: 'client' })
  })

  it('A replica whose replication somebody stopped follows again', async () => {
    const cluster = shop.current
    await byHand(cluster, 'shop-1', 'stop replica')
    await cluster.until('both threads run', async () => {
      const [row] = await cluster.sql('shop-1', 'show replica status')
      return row?.['Replica_IO_Running'] === 'Yes' && row['Replica_SQL_Running'] === 'Yes'
    })
    await cluster.whole()
  })

  it('A replica that somebody pointed to another source follows the primary again, which is reported', async () => {
    const cluster = shop.current
    const { host } = await cluster.instance('shop-2')
    await byQuickHand(
      cluster,
      'shop-1',
      'stop replica',
      `change replication source to source_host = '${host}'`,
      'start replica',
    )
    await cluster.until('it follows the primary', async () => {
      const [row] = await cluster.sql('shop-1', 'show replica status')
      return row?.['Source_Host'] === (await cluster.instance('shop-0')).host && row['Replica_IO_Running'] === 'Yes'
    })
    await reported(cluster, 'shop-1', /follows shop-0 again/)
    await cluster.whole()
  })

  it('A replica that had a replication filter is seeded again, since nobody knows what it left out', async () => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    const uuid = await cluster.value('shop-2', 'select @@server_uuid')
    await byQuickHand(
      cluster,
      'shop-2',
      'stop replica sql_thread',
      'change replication filter replicate_ignore_table = (app.writes)',
      'start replica sql_thread',
    )
    await reported(cluster, 'shop-2', /replication filter/)
    await isCopy(cluster, 'shop-2', uuid)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A row that somebody wrote at a replica, past its read-only, makes it a copy again', async () => {
    const cluster = shop.current
    const uuid = await cluster.value('shop-1', 'select @@server_uuid')
    // Without binary log there is no errant transaction to see. The replica breaks when the primary writes the same
    // row.
    await byHand(
      cluster,
      'shop-1',
      'set global super_read_only = off',
      'set session sql_log_bin = off',
      'insert into app.by_hand values (2)',
    )
    await cluster.sql('shop-0', 'insert into app.by_hand values (2)', { user: 'client' })
    await isCopy(cluster, 'shop-1', uuid)
    expect(await cluster.value('shop-1', 'select count(*) from app.by_hand')).toBe('2')
  })
}
