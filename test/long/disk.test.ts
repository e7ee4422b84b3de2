import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { SmallDisk } from '../support/small-disk.ts'
import { withCluster } from '../support/with-cluster.ts'
import { Writer } from '../support/writer.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-disk-'))
const canMount = await SmallDisk.isPossible(scratch)
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** Takes the cluster down and brings it up with another low-space threshold. */
async function restartWith(cluster: TestCluster, lowSpaceBytes: number): Promise<void> {
  await cluster.regent('local', 'down', 'shop')
  const config = join(scratch, 'spec.yaml')
  await writeFile(config, `failover: { windowMs: 0 }\nlowSpaceBytes: ${lowSpaceBytes}\n`)
  expect(await cluster.regent('local', 'up', 'shop', '--config', config)).toMatchObject({ code: 0 })
  await cluster.whole()
}

// Without root nobody can make a disk that is full.
describe.skipIf(!canMount)('The disk of the primary', () => {
  const shop = withCluster()
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    const cluster = shop.current
    await cluster.whole()
    const { volume } = await cluster.instance('shop-0')
    await cluster.regent('local', 'down', 'shop')
    disk = await SmallDisk.create(volume, 700)
    await restartWith(cluster, 67_108_864)
    expect(await cluster.primary()).toBe('shop-0')
  }, 120_000)

  afterAll(async () => {
    await shop.current.regent('local', 'down', 'shop')
    await disk?.remove()
  }, 60_000)

  it('that is nearly full stops writes cleanly before the server hangs, and opens them again by itself', async () => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    await disk?.fillUntil(40)
    const view = await cluster.waitFor('writes stop', ({ writable }) => !writable, 10_000)
    expect(view.primary).toBe('shop-0')
    expect(view.instances[0]?.problems.join('; ')).toMatch(/low space|before its disk is full/)
    await expect(cluster.sql('shop-0', 'select 1')).resolves.toHaveLength(1)
    await disk?.makeRoom()
    await cluster.waitFor('writes go on', ({ writable }) => writable, 10_000)
    await writer.next()
    expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('that is full, with no guard, is named and no reason to fail over', async () => {
    const cluster = shop.current
    await restartWith(cluster, 0)
    const writer = await Writer.start(cluster)
    await disk?.fillUntil(0)
    const view = await cluster.waitFor('it is named', ({ instances }) => instances.some(({ problems }) => /disk is full/.test(problems.join('; '))), 20_000)
    await sleep(2_000)
    expect(await cluster.view()).toMatchObject({ primary: view.primary, epoch: view.epoch })
    await disk?.makeRoom()
    await writer.next(monotonicMs(), { deadlineMs: 90_000 })
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('that turns read-only is a reason to fail over', async () => {
    const cluster = shop.current
    await cluster.whole()
    expect(await cluster.primary()).toBe('shop-0')
    const writer = await Writer.start(cluster)
    const atMs = monotonicMs()
    await disk?.turnReadOnly()
    expect(await writer.outageSince(atMs)).toBeLessThan(20_000)
    expect(await cluster.primary()).not.toBe('shop-0')
    await cluster.fault('shop-0', 'kill')
    await disk?.repair()
    await cluster.fault('shop-0', 'start')
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
