import { it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { isOwnCluster, kube } from '../own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const demo = withKubeCluster()

it.skipIf(!isOwnCluster)(
  'the primary’s node loses its power, agent and all: another instance takes over, and the node comes back as a replica’s',
  async () => {
    const cluster = demo.current
    const writer = await Writer.start(cluster)
    const before = await cluster.primary()
    const node = await cluster.nodeOf(before)
    const atMs = monotonicMs()
    await kube('node-kill', node)
    try {
      await cluster.otherPrimary(before)
      expectBelow(10_000, await outageSince(writer, 'power cut', atMs))
    } finally {
      await kube('node-start', node)
    }
    await cluster.whole(3, 180_000)
    await expectNothingLost(writer)
  },
)
