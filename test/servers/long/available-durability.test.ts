import { expect, it } from 'vitest'
import type { ClusterView } from '#api-contract/views.ts'
import { logOf } from '#test/support/instance-files.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster({ flags: ['--durability', 'available', '--acks', '2'] })
const replicas = ['shop-1', 'shop-2']

/** Two acknowledgements are waited for again, as was asked for. */
async function asBefore(): Promise<ClusterView> {
  await shop.current.waitFor(
    'k is what was asked for',
    ({ acks, acksWanted }) => acks === 2 && acksWanted === 2,
    200_000,
  )
  return shop.current.whole()
}

async function unprotected(): Promise<ClusterView> {
  return shop.current.waitFor(
    'no acknowledgement is needed',
    ({ acks, acksWanted }) => acks === 0 && acksWanted === 0,
    10_000,
  )
}

it('With one replica of two gone fewer acknowledgements are needed after a bounded moment, which is said; with it back as many as before', async () => {
  const cluster = shop.current
  expect(await asBefore()).toMatchObject({ durability: 'available' })
  const writer = await Writer.start(cluster)
  const atMs = await cluster.fault('shop-1', 'kill')
  await cluster.waitFor(
    'one is enough',
    ({ acks, syncSet, sentence }) =>
      acks === 1 && syncSet.join() === 'shop-2' && sentence.includes('writes need one acknowledgement instead of 2'),
    10_000,
  )
  await writer.next()
  await cluster.fault('shop-1', 'start')
  expect(await asBefore()).toMatchObject({ primary: 'shop-0' })
  expectBelow(6_000, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Without any replica writes go on after a bounded moment, and it is said that nothing protects them; once the replicas are back they are waited for again', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const atMs = monotonicMs()
  await Promise.all(replicas.map((name) => cluster.fault(name, 'kill')))
  expect(await unprotected()).toMatchObject({ primary: 'shop-0' })
  await writer.next()
  await cluster.waitFor(
    'it says so',
    ({ writable, sentence }) => writable && sentence.includes('writes need no acknowledgement instead of 2'),
    10_000,
  )
  expect((await cluster.explain()).analyses).toContainEqual(
    expect.objectContaining({ code: 'NotProtected', instance: 'shop-0' }),
  )
  expect(await logOf(cluster, 'manager')).toContain(
    'writes now need no acknowledgement (durability available: fewer than wanted',
  )
  await Promise.all(replicas.map((name) => cluster.fault(name, 'start')))
  expect(await asBefore()).toMatchObject({ primary: 'shop-0' })
  expectBelow(6_000, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A primary that dies while nothing protects it is started again where it was, although replicas are back by then, and nothing is lost', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await Promise.all(replicas.map((name) => cluster.fault(name, 'kill')))
  await unprotected()
  await writer.next()
  const { pid } = await cluster.instance('shop-0')
  const diedMs = await cluster.fault('shop-0', 'kill-mysqld')
  await Promise.all(replicas.map((name) => cluster.fault(name, 'start')))
  await cluster.otherMysqld('shop-0', pid)
  await writer.next(diedMs)
  expect(await asBefore()).toMatchObject({ primary: 'shop-0' })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Replicas that all lost their volumes are seeded again from the primary, which takes writes meanwhile', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const atMs = monotonicMs()
  await Promise.all(replicas.map((name) => loseVolume(cluster, name)))
  await unprotected()
  await Promise.all(replicas.map((name) => cluster.fault(name, 'start')))
  expect(await asBefore()).toMatchObject({ primary: 'shop-0' })
  expectBelow(6_000, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 300_000)
