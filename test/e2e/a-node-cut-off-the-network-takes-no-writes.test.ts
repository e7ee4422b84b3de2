import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { inNetworkOf, isOwnCluster, kube } from './own-cluster.ts'
import { clusterOfEachMode, expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

describe.each(clusterOfEachMode)('In mode %s', (mode, options) => {
  const demo = withKubeCluster(options)

  it.skipIf(!isOwnCluster)(
    'the primary’s node is cut off the network and mended: never do two instances acknowledge writes, neither to a client outside nor to one on that node',
    async () => {
      const cluster = demo.current
      const before = await cluster.primary()
      const node = await cluster.nodeOf(before)
      const outside = await Writer.start(cluster)
      const inside = await Writer.start(cluster, { table: 'inside', wrapper: inNetworkOf(node) })
      const atMs = monotonicMs()
      await kube('cut', node)
      let mendedMs: number
      try {
        await cluster.otherPrimary(before)
        expectBelow(10_000, await outageSince(outside, `${mode}: network cut`, atMs))
        const first = await outside.next(outside.longestPause(atMs).sinceMs)
        await sleep(15_000)
        mendedMs = monotonicMs()
        const meanwhile = inside.since(first.beganMs).filter(({ ackedMs }) => ackedMs < mendedMs)
        expect(meanwhile, 'acknowledged by the old primary while there was another').toEqual([])
      } finally {
        await kube('mend', node)
      }
      await inside.next(undefined, { deadlineMs: 120_000 })
      process.stderr.write(
        `    ${mode}: mended: the client on that node writes again after ${Math.round(monotonicMs() - mendedMs)} ms\n`,
      )
      await cluster.whole(3, 180_000)
      await expectNothingLost(inside)
      await expectNothingLost(outside)
    },
  )
})
