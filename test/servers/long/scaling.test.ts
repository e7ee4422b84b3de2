import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { logPath } from '#local/folder/state-layout.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()
const mall = withCluster({ name: 'mall', spec: { cloneAboveTransactions: 0 } })

it('A cluster grows from 3 to 5 under load, and a write then needs two acknowledgements', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const atMs = writer.lastBefore(Infinity)?.ackedMs ?? 0
  await cluster.scale(5)
  const view = await cluster.waitFor(
    '5 of 5 and two acknowledgements',
    ({ syncSet, acks, acksWanted }) => syncSet.length === 4 && acks === 2 && acksWanted === 2,
    180_000,
  )
  expect(view.primary).toBe('shop-0')
  await cluster.whole(5)
  expectBelow(5_000, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 5 })
}, 300_000)

it('It shrinks from 5 to 3 with the primary among the leavers, which hands over first; volumes are kept', async () => {
  const cluster = shop.current
  await cluster.switchover({ to: 'shop-4' })
  await cluster.whole(5)
  const writer = await Writer.start(cluster)
  await cluster.scale(3)
  const view = await cluster.whole(3)
  expect(['shop-0', 'shop-1', 'shop-2']).toContain(view.primary)
  expect(view).toMatchObject({ acks: 1, acksWanted: 1 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A dry run of a scale-in names the switchover it would begin with', async () => {
  const cluster = shop.current
  await cluster.switchover({ to: 'shop-2' })
  await cluster.whole(3)
  const result = await cluster.operate('scale', { instances: 2, dryRun: true })
  expect(result).toMatchObject({ done: false, dryRun: true })
  expect(result.plan?.[0]).toMatch(/^switch over from shop-2 to shop-[01]$/)
  expect((await cluster.view()).instances).toHaveLength(3)
})

it('It shrinks to 1, says that it is not protected, still takes writes, and grows back to 3', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.scale(1)
  const alone = await cluster.waitFor(
    'one alone',
    ({ instances, writable, acks }) => instances.length === 1 && writable && acks === 0,
  )
  expect(alone).toMatchObject({ primary: 'shop-0' })
  expect(alone.sentence).toContain('not protected')
  await writer.next()
  await cluster.scale(3)
  await cluster.whole(3)
  expect(await cluster.waitFor('protected again', ({ acks }) => acks === 1)).toMatchObject({ primary: 'shop-0' })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('An instance that lacks more than the binlogs are used for is copied from a replica, which was there before anybody thought of it', async () => {
  const cluster = mall.current
  const writer = await Writer.start(cluster)
  await writer.next()
  await cluster.scale(4)
  await cluster.whole(4)
  expect(await readFile(logPath(cluster.layout, 'mall-3'), 'utf8')).toMatch(/"this instance was seeded from mall-[12]"/)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 4 })
})
