import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { troublesOf } from '#test/support/troubles.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-group-disk-'))
const whyNot = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNot !== undefined) console.warn(`group-disk.test.ts is skipped: ${whyNot}`)

/** The instance that has a disk of its own. */
const small = 'shop-2'
const wholeMs = 120_000
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

// Without root nobody can make a disk that is full.
describe.skipIf(whyNot !== undefined)('The disk of a member of a group', () => {
  const shop = withCluster({ spec: { mode: 'group', lowSpaceBytes: 67_108_864 } })
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    const cluster = shop.current
    await cluster.whole(3, wholeMs)
    const { volume } = await cluster.instance(small)
    await cluster.fault(small, 'kill')
    await cluster.waitFor('it is gone', ({ instances }) =>
      instances.some(({ name, reachable }) => name === small && !reachable),
    )
    disk = await SmallDisk.create(volume, 900)
    await cluster.fault(small, 'start')
    await cluster.whole(3, wholeMs)
  }, 180_000)

  afterAll(async () => {
    await shop.current.regent('local', 'down', 'shop')
    await disk?.remove()
  }, 60_000)

  const problems = async () => troublesOf((await shop.current.view()).instances, small)

  async function leads(name: string): Promise<void> {
    const cluster = shop.current
    const { primary } = await cluster.whole(3, wholeMs)
    if (primary !== name) expect(await cluster.switchover({ to: name })).toMatchObject({ done: true })
    await cluster.whole(3, wholeMs)
  }

  it('that is nearly full at the primary stops writes cleanly, and opens them again by itself: the group elects nobody', async () => {
    const cluster = shop.current
    await leads(small)
    const { epoch } = await cluster.view()
    const writer = await Writer.start(cluster)
    await disk?.fillUntil(40)
    await cluster.waitFor('writes stop', ({ writable }) => !writable, 10_000)
    expect(await problems()).toMatch(/low space|before its disk is full/)
    await sleep(3_000)
    expect(await cluster.view()).toMatchObject({ primary: small, epoch, writable: false })
    await disk?.makeRoom()
    const atMs = monotonicMs()
    await cluster.waitFor('writes go on', ({ writable }) => writable, 10_000)
    await writer.next(atMs)
    expect(await cluster.view()).toMatchObject({ primary: small, epoch })
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)

  it('that is nearly full at the primary is no reason to stay: a person may switch over', async () => {
    const cluster = shop.current
    await leads(small)
    const writer = await Writer.start(cluster)
    await disk?.fillUntil(40)
    await cluster.waitFor('writes stop', ({ writable }) => !writable, 10_000)
    const atMs = monotonicMs()
    expect(await cluster.switchover({ to: 'shop-0' })).toMatchObject({ done: true })
    await writer.next(atMs)
    expect(await cluster.view()).toMatchObject({ primary: 'shop-0', writable: true })
    await disk?.makeRoom()
    await cluster.whole(3, wholeMs)
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)

  // Its server waits, and tries again each minute; or it cannot write a table (error 1114), and leaves the group.
  it('that is full at a secondary costs nobody else a write, is named, and the member catches up by itself once there is space, as no copy', async () => {
    const cluster = shop.current
    await leads('shop-0')
    const { epoch } = await cluster.view()
    const before = (await logOf(cluster, small)).length
    const writer = await Writer.start(cluster, { table: 'bulky', bodyBytes: 20_000 })
    await disk?.fillUntil(0)
    const fullMs = monotonicMs()
    await cluster.until('it is named', async () => (await problems()).includes('its disk is full'))
    await sleep(20_000)
    const { instances, ...view } = await cluster.view()
    console.log(
      `with a full disk for 20 s: ${small} is ${instances.find(({ name }) => name === small)?.group?.state}, longest pause of writes ${Math.round(writer.longestPause(fullMs).pauseMs)} ms`,
    )
    expect(view).toMatchObject({ primary: 'shop-0', epoch, writable: true })
    await writer.next()
    const [mib, written] = [await disk?.freeMiB(), await cluster.value('shop-0', 'select @@global.gtid_executed')]
    expectBelow(1, mib)
    await disk?.makeRoom()
    await cluster.until(
      'it has caught up',
      async () =>
        (await cluster.value(small, `select gtid_subset('${written}', @@global.gtid_executed)`).catch(() => '')) ===
        '1',
      wholeMs,
    )
    await cluster.whole(3, wholeMs)
    expect((await logOf(cluster, small)).slice(before)).not.toContain('seeded from')
    expectBelow(5_000, writer.longestPause(fullMs).pauseMs)
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 300_000)
})
