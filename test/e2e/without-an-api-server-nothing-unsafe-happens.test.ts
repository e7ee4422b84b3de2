import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { isMysqld, isOwnCluster, kube, processOf, slowEtcd } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

it.skipIf(!isOwnCluster)(
  'etcd is slow, so that whatever the record needs takes most of a second: switchover and failover take longer, and end well',
  async () => {
    const cluster = demo.current
    const writer = await Writer.start(cluster)
    const endSlowness = await slowEtcd({ stoppedMs: 600, runsMs: 100 })
    try {
      const switchoverMs = monotonicMs()
      await cluster.regent('switchover', cluster.name)
      expectBelow(20_000, await outageSince(writer, 'switchover, etcd slow', switchoverMs))
      await cluster.whole(3, 180_000)
      const before = await cluster.primary()
      const killMs = monotonicMs()
      process.kill(await processOf(before, isMysqld), 'SIGKILL')
      await cluster.otherPrimary(before, 120_000)
      expectBelow(20_000, await outageSince(writer, 'mysqld killed, etcd slow', killMs))
    } finally {
      await endSlowness()
    }
    await cluster.whole(3, 180_000)
    await expectNothingLost(writer)
  },
)

it.skipIf(!isOwnCluster)(
  'the API server is down for two minutes: writes go on; then the primary dies, and once the API server is back it all ends well, also for Services',
  async () => {
    const cluster = demo.current
    const writer = await Writer.start(cluster)
    const pid = await processOf(await cluster.primary(), isMysqld)
    const downMs = monotonicMs()
    let backMs: number
    await kube('component-kill', 'apiserver')
    try {
      await sleep(20_000)
      expectBelow(5_000, await outageSince(writer, 'no API server for 20 s', downMs))
      process.kill(pid, 'SIGKILL')
      await sleep(100_000)
    } finally {
      backMs = monotonicMs()
      await kube('component-start', 'apiserver')
    }
    await writer.next(undefined, { deadlineMs: 120_000 })
    process.stderr.write(
      `    the API server is back: writes flow again after ${Math.round(monotonicMs() - backMs)} ms\n`,
    )
    await cluster.whole(3, 180_000)
    // kube-proxy looks for the API server again in its own time, up to a minute later: until then Services lead where
    // they led, whatever Regent writes.
    const switchoverMs = monotonicMs()
    await cluster.regent('switchover', cluster.name)
    expectBelow(150_000, await outageSince(writer, 'the first switchover after it', switchoverMs, 150_000))
    await cluster.whole(3, 180_000)
    await expectNothingLost(writer)
  },
)
