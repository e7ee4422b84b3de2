import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const all = ['shop-0', 'shop-1', 'shop-2']

it('A cluster whose servers are all killed at once comes back by itself, and nothing acknowledged is lost', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await Promise.all(all.map((name) => cluster.fault(name, 'kill-mysqld')))
  await cluster.waitFor('the outage is seen', ({ writable }) => !writable, 10_000)
  await cluster.whole()
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A cluster whose servers and agents are all killed at once comes back when they are started', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await Promise.all(all.map((name) => cluster.fault(name, 'kill')))
  await cluster.waitFor('the outage is seen', ({ writable }) => !writable, 10_000)
  await Promise.all(all.map((name) => cluster.fault(name, 'start')))
  await cluster.whole()
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('One replica alone is never made primary: the manager says who is missing', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const primary = await cluster.primary()
  const [first = '', second = ''] = await cluster.replicas()
  await Promise.all(all.map((name) => cluster.fault(name, 'kill')))
  await cluster.fault(first, 'start')
  await cluster.waitFor(
    `it says that ${second} is missing`,
    ({ blocked, sentence }) => blocked && sentence.includes('no automatic failover') && sentence.includes(second),
  )
  await sleep(3_000)
  expect(await cluster.view()).toMatchObject({ writable: false, primary })
  await cluster.waitFor('it still says that it waits', ({ blocked }) => blocked)
  await cluster.fault(second, 'start')
  await cluster.waitFor('two replicas are enough', (now) => now.writable, 30_000)
  await cluster.fault(primary, 'start')
  await cluster.whole()
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A primary that waits offline for its marker lets nobody in when a hand switches acknowledgements off, and opens once replicas are back', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const primary = await cluster.primary()
  await Promise.all(all.map((name) => cluster.fault(name, 'kill')))
  await cluster.fault(primary, 'start')
  await cluster.waitFor('it waits for its marker', ({ sentence }) => sentence.includes('acknowledges a marker'), 30_000)
  expect(await logOf(cluster, primary)).not.toContain('by another hand')
  await byHand(cluster, primary, 'set global rpl_semi_sync_source_enabled = off')
  await cluster.until(
    'acknowledgements are on again',
    async () => (await cluster.value(primary, 'select @@global.rpl_semi_sync_source_enabled')) === '1',
    10_000,
  )
  expect(await cluster.value(primary, 'select @@global.offline_mode')).toBe('1')
  expect(await cluster.view()).toMatchObject({ writable: false, primary })
  await Promise.all(all.filter((name) => name !== primary).map((name) => cluster.fault(name, 'start')))
  await cluster.whole()
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
