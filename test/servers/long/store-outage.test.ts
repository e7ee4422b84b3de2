import { rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { RedisServer } from '#test/support/redis-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const outageMs = 5_000
const trouble = /nothing can be committed until the store is back/

interface Break {
  begin(): Promise<void>
  end(): Promise<void>
}

/** Kills the primary while the store is gone: nobody may lead before it is back, and then somebody does soon. */
async function failOverWithoutStore(cluster: TestCluster, store: Break, missing: RegExp): Promise<void> {
  const before = await cluster.whole()
  const from = before.primary ?? ''
  const writer = await Writer.start(cluster)
  await store.begin()
  await cluster.fault(from, 'kill-mysqld')
  const goneMs = monotonicMs()
  const view = await cluster.waitFor(
    'the manager says what is missing',
    ({ sentence }) => trouble.test(sentence) && missing.test(sentence),
    outageMs,
  )
  expect(view.blocked).toBe(true)
  await sleep(Math.max(0, goneMs + outageMs - monotonicMs()))
  expect(writer.begunSince(goneMs)).toEqual([])
  expect(await cluster.view()).toMatchObject({ primary: from, epoch: before.epoch })
  const backMs = monotonicMs()
  await store.end()
  expectBelow(10_000, await writer.outageSince(backMs))
  const after = await cluster.whole()
  expect(after).toMatchObject({ epoch: before.epoch + 1, sentence: expect.not.stringMatching(trouble) as string })
  expect(after.primary).not.toBe(from)
  expect((await cluster.recoveries())[0]).toMatchObject({
    kind: 'failover',
    outcome: 'succeeded',
    fromEpoch: before.epoch,
    toEpoch: after.epoch,
  })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}

describe('With records in files', () => {
  const shop = withCluster()

  it('a primary that dies while their folder cannot be used is replaced once it can', async () => {
    const { records } = shop.current.layout
    const store: Break = {
      begin: async () => {
        await rename(records, `${records}.away`)
        // With no folder there the record would be lost, which is another matter.
        await writeFile(records, '')
      },
      end: async () => {
        await rm(records)
        await rename(`${records}.away`, records)
      },
    }
    await failOverWithoutStore(shop.current, store, /records.*ENOTDIR/)
  })
})

describe('With records in a Redis', () => {
  let redis: RedisServer | undefined
  beforeAll(async () => {
    redis = await RedisServer.start()
  })
  // Registered before the cluster's own, so that it runs after it.
  afterAll(() => redis?.end())
  const shop = withCluster(() => ({ flags: ['--store', redis?.url ?? ''] }))

  it('a primary that dies while that Redis is frozen is replaced once it answers', async () => {
    const store: Break = { begin: async () => redis?.signal('SIGSTOP'), end: async () => redis?.signal('SIGCONT') }
    await failOverWithoutStore(shop.current, store, /redis:.*no answer within/)
  })

  it('a primary goes on for longer than any lease while that Redis is dead, and the manager says what it cannot do', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const writer = await Writer.start(cluster)
    await redis?.kill()
    await cluster.waitFor(
      'the manager says so',
      ({ sentence, writable }) => writable && trouble.test(sentence) && /ECONNREFUSED/.test(sentence),
      5_000,
    )
    await sleep(7_000)
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await cluster.view()).toMatchObject({ primary: before.primary, epoch: before.epoch, writable: true })
    await redis?.begin()
    await cluster.waitFor(
      'the manager says that all is well',
      ({ sentence, blocked }) => !blocked && sentence.includes('is healthy') && !trouble.test(sentence),
      5_000,
    )
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
