import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

it('A replica whose mysqld is killed comes back by itself, and writes never stop for it', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const { pid } = await cluster.instance('shop-1')
  await cluster.fault('shop-1', 'kill-mysqld')
  await cluster.otherMysqld('shop-1', pid)
  await cluster.whole()
  expectBelow(5_000, writer.longestPause().pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('The sync set shrinks when a replica is gone and grows when it is back; writes pause for a bounded moment at most', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-1', 'kill')
  const without = await cluster.waitFor(
    'shop-1 has left the sync set, and what that means is said',
    ({ syncSet, sentence }) =>
      syncSet.length === 1 &&
      !syncSet.includes('shop-1') &&
      sentence.includes('the loss of shop-2 would make writes wait'),
  )
  expect(without).toMatchObject({ writable: true, primary: 'shop-0' })
  await cluster.fault('shop-1', 'start')
  await cluster.whole()
  expectBelow(5_000, writer.longestPause().pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Without any replica writes wait, the manager says for whom, and nothing is acknowledged until one is back', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await Promise.all(['shop-1', 'shop-2'].map((name) => cluster.fault(name, 'kill')))
  const view = await cluster.waitFor('writes wait', ({ sentence }) => sentence.includes('writes wait'))
  const atMs = monotonicMs()
  expect(view.primary).toBe('shop-0')
  await sleep(1_500)
  expect(writer.since(atMs)).toEqual([])
  await cluster.fault('shop-1', 'start')
  await writer.next()
  await cluster.fault('shop-2', 'start')
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A replica that is too far behind is refused as a candidate, with the number', async () => {
  const cluster = shop.current
  const lock = await cluster.session('shop-2')
  await lock.query('flush tables with read lock')
  const writer = await Writer.start(cluster, { everyMs: 0, table: 'fast' })
  await cluster.until('a thousand writes', async () => writer.count > 1_050, 60_000)
  await writer.stop()
  await cluster.waitFor('the backlog is seen', ({ instances }) =>
    instances.some(({ name, backlog }) => name === 'shop-2' && (backlog ?? 0) > 1_000),
  )
  await expect(cluster.switchover({ to: 'shop-2', dryRun: true })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringMatching(/shop-2 has \d+ transactions to apply/) as string,
  })
  lock.destroy()
  await cluster.until(
    'it has caught up',
    async () => (await cluster.view()).instances.find(({ name }) => name === 'shop-2')?.backlog === 0,
  )
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
