import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

it('A frozen primary is replaced, and acknowledges nothing to anybody after it wakes up', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const writer = await Writer.start(cluster)
  const patient = await Writer.start(cluster, { table: 'patient', pinnedTo: from, attemptMs: 20_000 })
  const stubborn = await Writer.start(cluster, { table: 'stubborn', pinnedTo: from, attemptMs: 100, everyMs: 2 })
  const frozenMs = await cluster.fault(from, 'freeze-mysqld')
  expectBelow(10_000, await writer.outageSince(frozenMs))
  const promotedMs = monotonicMs()
  // Its own agent may have killed it by now, which is a way of acknowledging nothing.
  await cluster.fault(from, 'thaw-mysqld').catch((error: unknown) => expect(String(error)).toContain('does not run'))
  await sleep(3_000)
  expect(patient.since(promotedMs)).toEqual([])
  expect(stubborn.since(promotedMs)).toEqual([])
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect(stubborn.since(promotedMs)).toEqual([])
  for (const each of [writer, patient, stubborn])
    expect(await each.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
})

it('A primary that freezes for less than a moment stays primary', async () => {
  const cluster = shop.current
  await cluster.whole()
  const before = await cluster.view()
  await cluster.fault(before.primary ?? '', 'freeze-mysqld')
  await sleep(400)
  await cluster.fault(before.primary ?? '', 'thaw-mysqld')
  await sleep(1_500)
  expect(await cluster.whole()).toMatchObject({ primary: before.primary, epoch: before.epoch })
})

it('A primary whose agent and mysqld are both frozen is replaced, and acknowledges nothing after both wake up', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  const writer = await Writer.start(cluster)
  const stubborn = await Writer.start(cluster, { table: 'stubborn', pinnedTo: from, attemptMs: 100, everyMs: 2 })
  await cluster.fault(from, 'freeze-agent')
  const frozenMs = await cluster.fault(from, 'freeze-mysqld')
  expectBelow(15_000, await writer.outageSince(frozenMs))
  const promotedMs = monotonicMs()
  await cluster.fault(from, 'thaw-mysqld')
  await sleep(1_000)
  await cluster.fault(from, 'thaw-agent')
  await cluster.whole()
  expect(stubborn.since(promotedMs)).toEqual([])
  for (const each of [writer, stubborn])
    expect(await each.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
