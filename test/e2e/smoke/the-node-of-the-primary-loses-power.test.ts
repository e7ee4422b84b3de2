import { expect, it } from 'vitest'
import { monotonicMs } from '../../support/monotonic.ts'
import { Writer } from '../../support/writer.ts'
import { isOwnCluster, kube } from '../own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'

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
      expect(await outageSince(writer, 'power cut', atMs)).toBeLessThan(10_000)
    } finally {
      await kube('node-start', node)
    }
    await cluster.whole(3, 180_000)
    await expectNothingLost(writer)
  },
)
