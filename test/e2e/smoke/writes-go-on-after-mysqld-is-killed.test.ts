import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const demo = withKubeCluster()

it('mysqld of the primary is killed: writes go on at another instance, and its pod is not restarted', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const { metadata } = await cluster.pod(before)
  const atMs = monotonicMs()
  await cluster.killMysqld(before)
  await cluster.otherPrimary(before)
  expectBelow(5_000, await outageSince(writer, 'mysqld killed', atMs))
  await cluster.whole()
  expect((await cluster.pod(before)).metadata.uid).toBe(metadata.uid)
  await expectNothingLost(writer)
})
