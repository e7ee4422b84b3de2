import { expect, it } from 'vitest'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({
  spec: {
    failover: { windowMs: 0 },
    policies: { 'shop-1': { promotion: 'prefer', priority: 0 }, 'shop-2': { promotion: 'never', priority: 0 } },
  },
})

it('A candidate that lacks what only another replica acknowledged fetches it from that one before it opens, and nothing is lost', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  // Paused, nobody leaves the sync set, and the failover waits until the candidate can be asked.
  expect(await cluster.regent('pause', 'shop')).toMatchObject({ code: 0 })
  const deaf = await deafenReplicas(cluster, ['shop-1'])
  const deafMs = monotonicMs()
  await cluster.until(
    'a hundred writes that shop-2 alone acknowledged',
    async () => writer.begunSince(deafMs).length > 100,
  )
  await cluster.fault('shop-0', 'kill-mysqld')
  await deaf.end()
  const held = await cluster.waitFor(
    'it waits for a person, and shop-1 hears again',
    ({ sentence, instances }) =>
      /no failover: .*paused/.test(sentence) && instances.some(({ name, reachable }) => name === 'shop-1' && reachable),
  )
  expect(held).toMatchObject({ primary: 'shop-0', epoch })
  expect(held.syncSet.toSorted()).toEqual(['shop-1', 'shop-2'])
  expect(
    await cluster.value(
      'shop-1',
      `select count(*) from app.writes where id in (${writer
        .begunSince(deafMs)
        .map(({ id }) => id)
        .join()})`,
    ),
  ).toBe('0')
  const resumedMs = monotonicMs()
  expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
  await writer.next(resumedMs)
  expect(await cluster.whole()).toMatchObject({ primary: 'shop-1', epoch: epoch + 1 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('That it was fetched is a step of the recovery, after the promises and before the commit', async () => {
  const [recovery] = await shop.current.recoveries()
  expect(recovery).toMatchObject({ kind: 'failover', outcome: 'succeeded', fromEpoch: 1, toEpoch: 2 })
  const steps = recovery?.timeline.map(({ what }) => what) ?? []
  const at = (words: RegExp): number => steps.findIndex((step) => words.test(step))
  const order = [
    /^promise shop-1: [\d.]+ ms/,
    /^committed revision \d+, epoch 1/,
    /^fetch shop-1: [\d.]+ ms/,
    /^committed revision \d+, epoch 2/,
    /^route moved to shop-1/,
  ].map(at)
  expect(order).not.toContain(-1)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
})
