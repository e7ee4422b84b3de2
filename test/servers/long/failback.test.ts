import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({
  spec: {
    policies: { 'shop-2': { promotion: 'prefer', priority: 0 } },
    failover: { automatic: true, backAfterSeconds: 3 },
  },
})

it('A preferred instance leads from the start, and again by a switchover once the failover is over and it is well', async () => {
  const cluster = shop.current
  const led = () => cluster.waitFor('shop-2 leads', ({ primary, writable }) => primary === 'shop-2' && writable)
  await led()
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-2', 'kill-mysqld')
  await cluster.waitFor('another one leads', ({ primary, writable }) => primary !== 'shop-2' && writable)
  await led()
  await writer.next(monotonicMs())
  await cluster.whole()
  const kinds = (await cluster.recoveries()).map(({ kind, outcome }) => `${kind} ${outcome}`)
  expect(kinds.slice(0, 2)).toEqual(['switchover succeeded', 'failover succeeded'])
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
