import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const demo = withKubeCluster()

it('kubectl drain of the primary’s node is a switchover for clients', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const node = await cluster.nodeOf(before)
  const atMs = monotonicMs()
  const wallMs = Date.now()
  try {
    await cluster.kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout', '150s')
    expect(await cluster.primary()).not.toBe(before)
    expectBelow(5_000, await outageSince(writer, 'drain', atMs))
    expect((await cluster.recoverySince(wallMs)).kind).toBe('switchover')
  } finally {
    await cluster.kubectl('uncordon', node)
  }
  await cluster.whole(3, 180_000)
  await expectNothingLost(writer)
})
