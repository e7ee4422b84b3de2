import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Both of the first two faults lie in it, however busy the machine is. */
const windowMs = 45_000
let failedOverMs = 0

const shop = withCluster({
  spec: {
    failover: { windowMs },
    policies: { 'shop-1': { promotion: 'never', priority: 0 }, 'shop-2': { promotion: 'neutral', priority: 5 } },
  },
})

it('A failover chooses whom the policies prefer, and never whom they forbid', async () => {
  const cluster = shop.current
  await cluster.whole()
  await cluster.fault('shop-0', 'kill-mysqld')
  await cluster.waitFor('another primary', ({ primary, writable }) => primary !== 'shop-0' && writable)
  failedOverMs = monotonicMs()
  expect(await cluster.primary()).toBe('shop-2')
  await cluster.whole()
})

it('No second failover follows within the window: the primary is started again where it was, and the manager says why', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const { epoch } = await cluster.view()
  await cluster.fault('shop-2', 'kill-mysqld')
  await cluster.waitFor('the manager says why', ({ sentence }) => /shop-2 .*(window|within|ago)/.test(sentence), 10_000)
  const view = await cluster.whole()
  expect(view).toMatchObject({ primary: 'shop-2', epoch })
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  await sleep(failedOverMs + windowMs - monotonicMs())
})

it('An instance whose policy is never is refused as the target of a switchover', async () => {
  await expect(shop.current.switchover({ to: 'shop-1' })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('the policy of shop-1 is never') as string,
  })
})

it('A paused cluster does not fail over until it is resumed', async () => {
  const cluster = shop.current
  expect(await cluster.regent('pause', 'shop')).toMatchObject({ code: 0 })
  const from = await cluster.primary()
  await cluster.fault(from, 'kill')
  await cluster.waitFor('the manager says why', ({ sentence }) => /no failover: .*paused/.test(sentence))
  await sleep(2_000)
  expect(await cluster.view()).toMatchObject({ primary: from, paused: true, writable: false })
  expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
  await cluster.waitFor('the failover', ({ primary, writable }) => primary !== from && writable)
  await cluster.fault(from, 'start')
  await cluster.whole()
})

it('Fencing the primary switches over first; a fenced instance takes no clients until it is unfenced', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  expect(await cluster.regent('fence', from)).toMatchObject({ code: 0 })
  const view = await cluster.waitFor(
    'it is fenced, and another one leads',
    ({ primary, writable, instances }) =>
      primary !== from && writable && instances.some((row) => row.name === from && row.fenced && row.offline === true),
  )
  expect(view.primary).not.toBe('shop-1')
  await expect(cluster.sql(from, 'select 1', { user: 'client' })).rejects.toMatchObject({ errno: 3032 })
  expect(await cluster.regent('unfence', from)).toMatchObject({ code: 0 })
  await cluster.whole()
  expect(await cluster.sql(from, 'select 1', { user: 'client' })).toHaveLength(1)
})

it('A primary that is fenced and kept is a deliberate outage: nothing fails over until it is unfenced', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const primary = await cluster.primary()
  await cluster.operate('fence', { instance: primary, keepPrimary: true })
  await cluster.waitFor('nobody writes', ({ writable }) => !writable, 5_000)
  await sleep(3_000)
  expect(await cluster.view()).toMatchObject({ primary, epoch, writable: false })
  await cluster.operate('unfence', { instance: primary })
  expect(await cluster.whole()).toMatchObject({ primary, epoch })
})
