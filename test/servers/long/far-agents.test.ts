import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

describe('Three servers of somebody else, reached by SSH, in mode async', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start()
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('are managed as they are, and lose nothing when the mysqld of their primary is killed', async () => {
    expect(await cluster.primary()).toBe('shop-0')
    const writer = await Writer.start(cluster)
    const killedMs = monotonicMs()
    await strangers.hostOf('shop-0').kill()
    const { host } = await writer.next(killedMs, { notBy: strangers.hostOf('shop-0').address })
    expect(host).not.toBe(strangers.hostOf('shop-0').address)
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
