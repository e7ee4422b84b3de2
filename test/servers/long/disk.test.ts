import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { troublesOf } from '#test/support/troubles.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-disk-'))
const whyNot = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNot !== undefined) console.warn(`disk.test.ts is skipped: ${whyNot}`)

/** Longer than a server may be frozen, with the failover that would follow. */
const holdMs = 3_000

/** The instance that has a disk of its own, as the primary. */
const small = 'shop-2'

/** Ended, and seen to be: whoever starts it again at once may still be shown the one before. */
async function kill(cluster: TestCluster): Promise<number> {
  const atMs = await cluster.fault(small, 'kill')
  await cluster.waitFor(`${small} is gone`, ({ instances }) =>
    instances.some(({ name, reachable }) => name === small && !reachable),
  )
  return atMs
}

async function startAgain(cluster: TestCluster): Promise<void> {
  await cluster.fault(small, 'start')
  await cluster.whole()
}

async function makePrimary(cluster: TestCluster): Promise<void> {
  if ((await cluster.primary()) !== small) expect(await cluster.switchover({ to: small })).toMatchObject({ done: true })
  await cluster.whole()
}

async function switchGuardOff(cluster: TestCluster): Promise<void> {
  const config = agentConfigPath(cluster.layout, small)
  await writeFile(
    config,
    JSON.stringify({ ...(JSON.parse(await readFile(config, 'utf8')) as object), lowSpaceBytes: 0 }),
  )
}

// Without root nobody can make a disk that is full.
describe.skipIf(whyNot !== undefined)('The disk of the primary', () => {
  const shop = withCluster({ spec: { lowSpaceBytes: 67_108_864 } })
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    const cluster = shop.current
    await cluster.whole()
    const { volume } = await cluster.instance(small)
    await kill(cluster)
    disk = await SmallDisk.create(volume, 700)
    await startAgain(cluster)
    await makePrimary(cluster)
  }, 120_000)

  afterAll(async () => {
    await shop.current.regent('local', 'down', 'shop')
    await disk?.remove()
  }, 60_000)

  it('that is nearly full stops writes cleanly before the server hangs, and opens them again by itself', async () => {
    const cluster = shop.current
    const { epoch } = await cluster.view()
    const writer = await Writer.start(cluster)
    await disk?.fillUntil(40)
    const view = await cluster.waitFor(
      'writes stop',
      ({ writable, instances }) => !writable && /low space|before its disk is full/.test(troublesOf(instances, small)),
      10_000,
    )
    expect(view.primary).toBe(small)
    await expect(cluster.sql(small, 'select 1')).resolves.toHaveLength(1)
    await disk?.makeRoom()
    await cluster.waitFor('writes go on', ({ writable }) => writable, 10_000)
    await writer.next()
    expect(await cluster.view()).toMatchObject({ primary: small, epoch })
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('that turns read-only is a reason to fail over', async () => {
    const cluster = shop.current
    await cluster.whole()
    expect(await cluster.primary()).toBe(small)
    const writer = await Writer.start(cluster)
    const atMs = monotonicMs()
    await disk?.turnReadOnly()
    expectBelow(20_000, await writer.outageSince(atMs))
    expect(await cluster.primary()).not.toBe(small)
    await kill(cluster)
    await disk?.repair()
    // For the next test.
    await switchGuardOff(cluster)
    await startAgain(cluster)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('that is full, with no guard, is named and no reason to fail over, nor is the minute in which its server waits for space that is there again', async () => {
    const cluster = shop.current
    await makePrimary(cluster)
    const { epoch } = await cluster.view()
    const { pid } = await cluster.instance(small)
    const writer = await Writer.start(cluster)
    await cluster.sql(small, 'create table if not exists app.counted (id int primary key, n int)')
    await cluster.sql(small, 'replace into app.counted values (0, 0)')
    await disk?.fillUntil(0)
    // A server waits for space for its binlog only. Where the writer's table needs another page first, its writes are
    // refused; and the binlog may have room for a few of these.
    let isFull = true
    const writes = (async () => {
      while (isFull)
        await cluster.sql(small, 'update app.counted set n = n + 1', { deadlineMs: 5_000 }).catch(() => undefined)
    })()
    await cluster.waitFor(
      'it is named',
      ({ instances }) => /its disk is full/.test(troublesOf(instances, small)),
      20_000,
    )
    await sleep(holdMs)
    await disk?.makeRoom()
    await cluster.waitFor(
      'its server still waits',
      ({ instances }) => /the disk was full \d+ s ago/.test(troublesOf(instances, small)),
      20_000,
    )
    await sleep(holdMs)
    expect(await cluster.view()).toMatchObject({ primary: small, epoch })
    expect(await cluster.instance(small)).toMatchObject({ pid })
    isFull = false
    await writes
    // The rest of the minute would prove nothing more.
    expectBelow(20_000, await writer.outageSince(await kill(cluster)))
    await startAgain(cluster)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
