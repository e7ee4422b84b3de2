import { beforeEach, expect, it } from 'vitest'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { isMysqld, isOwnCluster, kube, processOf } from './own-cluster.ts'
import { routersReady, throughRouter, withoutManagers } from './through-router.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const electing = withKubeCluster({ name: 'electing', spec: { mode: 'group', router: {} } })

beforeEach(async () => {
  await routersReady(electing.current)
  await electing.current.whole(3, 180_000)
}, 400_000)

it.skipIf(!isOwnCluster)(
  'the API server is away and the primary’s mysqld dies: the group elects, and the routers follow the members',
  async () => {
    const cluster = electing.current
    const writer = await Writer.start(throughRouter(cluster))
    const before = await cluster.primary()
    const pid = await processOf(before, isMysqld)
    await kube('component-kill', 'apiserver')
    try {
      await writer.next(monotonicMs(), { deadlineMs: 60_000 })
      const killedMs = monotonicMs()
      process.kill(pid, 'SIGKILL')
      expectBelow(
        10_000,
        await outageSince(writer, 'group: mysqld killed, no API server, through the routers', killedMs),
      )
    } finally {
      await kube('component-start', 'apiserver')
    }
    await cluster.whole(3, 240_000)
    expect(await cluster.primary()).not.toBe(before)
    await expectNothingLost(writer)
  },
  600_000,
)

it('there is no manager and the primary’s mysqld dies: the group elects, and the routers follow the members', async () => {
  const cluster = electing.current
  const writer = await Writer.start(throughRouter(cluster))
  const before = await cluster.primary()
  await withoutManagers(cluster, async () => {
    const killedMs = monotonicMs()
    await cluster.killMysqld(before)
    expectBelow(10_000, await outageSince(writer, 'group: mysqld killed, no manager, through the routers', killedMs))
  })
  await cluster.whole(3, 240_000)
  expect(await cluster.primary()).not.toBe(before)
  await expectNothingLost(writer)
}, 600_000)
