import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-mount-'))
const whyNot = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNot !== undefined) console.warn(`volume-mounted-anew.test.ts is skipped: ${whyNot}`)

describe.skipIf(whyNot !== undefined)('The volume of a follower', () => {
  const shop = withCluster()
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    const cluster = shop.current
    await cluster.whole()
    const { volume } = await cluster.instance('shop-2')
    await cluster.regent('local', 'down', 'shop')
    disk = await SmallDisk.create(volume, 700)
    await cluster.upAgain()
    await cluster.whole()
  }, 180_000)

  afterAll(async () => {
    await shop.current.regent('local', 'down', 'shop')
    await disk?.remove()
  }, 60_000)

  it('that was cut off and attached again, with no reboot, makes it count for nothing until it has caught up; one that stayed does not', async () => {
    const cluster = shop.current
    const { primary } = await cluster.whole()
    expect(primary).not.toBe('shop-2')
    const writer = await Writer.start(cluster)
    const newIn = async (before: string) => (await logOf(cluster, 'shop-2')).slice(before.length)

    const before = await logOf(cluster, 'shop-2')
    await cluster.fault('shop-2', 'kill')
    await cluster.fault('shop-2', 'start')
    await cluster.whole()
    expect(await newIn(before)).not.toMatch(/mounted anew|counts for nothing/)

    const stayed = await logOf(cluster, 'shop-2')
    await cluster.fault('shop-2', 'kill')
    await disk?.repair()
    await cluster.fault('shop-2', 'start')
    await cluster.until('it says so', async () =>
      /the volume was mounted anew and it did not stop in order before: it counts for nothing/.test(
        await newIn(stayed),
      ),
    )
    await cluster.until('it has caught up', async () =>
      /caught up with everything its primary holds and counts again/.test(await newIn(stayed)),
    )
    expect(await cluster.whole()).toMatchObject({ primary })
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
