import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const demo = withKubeCluster()

it('kubectl regent switchover hands the primary over, there and back', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const [other = ''] = await cluster.replicas()
  for (const to of [other, before]) {
    await cluster.whole()
    const atMs = monotonicMs()
    await cluster.regent('switchover', cluster.name, '--to', to)
    expect(await cluster.primary()).toBe(to)
    expectBelow(5_000, await outageSince(writer, 'switchover', atMs))
  }
  await cluster.whole()
  const sessions = `select count(*) from performance_schema.threads where processlist_user = 'client'`
  await cluster.until(
    () => 'no session left behind on the old primary',
    async () => (await cluster.value(other, sessions)) === '0',
  )
  await expectNothingLost(writer)
})
