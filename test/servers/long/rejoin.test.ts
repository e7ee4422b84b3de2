import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { byQuickHand } from '#test/support/by-hand.ts'
import { deafenReplicas, untilWaiting } from '#test/support/deaf-replicas.ts'
import { archivesOf, logOf, printArchive } from '#test/support/instance-files.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Of its archives an instance keeps only what was archived last. */
const shop = withCluster({ spec: { archiveBytes: 0 } })

it('A killed primary comes back without the writes that nobody acknowledged: they are cut off and archived, and nothing is copied again', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  await cluster.sql(from, 'create table app.tail (id int primary key)', { user: 'client' })
  await cluster.whole()
  const deafen = await deafenReplicas(cluster)
  const waiting = await cluster.session(from, 'client')
  const unacknowledged = waiting.query('insert into app.tail values (1)').then(
    () => 'acknowledged',
    () => 'cut off',
  )
  await untilWaiting(cluster, from, 1)
  await cluster.fault(from, 'kill')
  await deafen.end()
  expect(await unacknowledged).toBe('cut off')
  await cluster.waitFor('another primary', ({ primary, writable }) => primary !== from && writable)
  await cluster.fault(from, 'start')
  await cluster.whole()
  const archives = await archivesOf(cluster, from)
  expect(archives.map(({ description }) => description.kind)).toEqual(['tail'])
  const [archive] = archives
  expect(archive && (await printArchive(cluster, archive))).toContain('INSERT INTO `app`.`tail`')
  for (const { name } of (await cluster.view()).instances)
    expect(await cluster.value(name, 'select count(*) from app.tail')).toBe('0')
})

it('A replica with errant transactions is archived, readable with mysqlbinlog, and seeded again by CLONE', async () => {
  const cluster = shop.current
  const [errant = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await byQuickHand(cluster, errant, 'set global super_read_only = off', 'create table app.errant (id int primary key)')
  const uuid = await cluster.value(errant, 'select @@server_uuid')
  await cluster.until(`${errant} is archived`, async () =>
    (await archivesOf(cluster, errant)).some(({ description }) => description.kind === 'errant'),
  )
  await cluster.until(
    `${errant} is a copy`,
    async () => (await cluster.value(errant, 'select @@server_uuid').catch(() => uuid)) !== uuid,
  )
  await cluster.whole()
  const archive = (await archivesOf(cluster, errant)).find(({ description }) => description.kind === 'errant')
  expect(archive && (await printArchive(cluster, archive))).toContain('create table app.errant')
  const repairs = async () =>
    (await cluster.repairs(errant)).flatMap(({ timeline }) => timeline.map(({ what }) => what))
  await cluster.until('the repair is filed', async () => (await repairs()).some((what) => /seeded from/.test(what)))
  expect((await repairs()).join('; ')).toMatch(
    /\d+ errant transactions? archived in .*; copying: .*; this instance was seeded from shop-\d/,
  )
  await expect(cluster.sql(errant, 'select * from app.errant')).rejects.toMatchObject({ errno: 1146 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A replica whose copy of a donor fails is copied from another one, it is said which failed and why, and what was archived for it takes the place of older archives', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [errant = '', donor = ''] = await cluster.replicas()
  const primary = await cluster.primary()
  const writer = await Writer.start(cluster)
  const [older] = await archivesOf(cluster, errant)
  // CLONE opens each file by its name; mysqld has this one open.
  const file = join((await cluster.instance(donor)).volume, 'data', 'app', 'tail.ibd')
  await rename(file, `${file}.away`)
  await byQuickHand(cluster, errant, 'set global super_read_only = off', 'create table app.errant (id int primary key)')
  const view = await cluster.waitFor('another donor is tried', ({ sentence }) =>
    sentence.startsWith(`${errant} is seeded from ${primary}`),
  )
  expect(view.sentence).toMatch(new RegExp(`; a copy of ${donor} failed \\(.+\\)$`))
  expect(troublesOf(view.instances, errant)).toContain(`${errant} could not be seeded from ${donor} (1 failure): `)
  await cluster.until(`${errant} is a copy`, async () =>
    (await logOf(cluster, errant)).includes(`seeded from ${primary}`),
  )
  await cluster.until('older archives are removed', async () =>
    (await logOf(cluster, errant)).includes(`the oldest archives (${basename(older?.folder ?? 'none')};`),
  )
  expect(
    (await archivesOf(cluster, errant)).map(
      ({ description: { kind, wallMs } }) => kind === 'errant' && wallMs > (older?.description.wallMs ?? wallMs),
    ),
  ).toEqual([true])
  await rename(`${file}.away`, file)
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('An old primary that comes back after others wrote a lot catches up and counts again', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  const writer = await Writer.start(cluster, { everyMs: 1 })
  const atMs = await cluster.fault(from, 'kill')
  await writer.outageSince(atMs)
  await cluster.until('some hundred writes', async () => writer.since(atMs).length > 600, 120_000)
  await cluster.fault(from, 'start')
  await cluster.whole(3, 150_000)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 400_000)
