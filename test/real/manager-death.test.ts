import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { monotonicMs } from '../support/monotonic.ts'
import { withCluster } from '../support/with-cluster.ts'
import { Writer } from '../support/writer.ts'

const shop = withCluster()

it('Writes go on without a manager', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const { managerPid } = await cluster.status()
  await cluster.signalManager('SIGSTOP')
  // Longer than the lease: the agents keep it among themselves.
  await sleep(7_500)
  await writer.next(monotonicMs())
  process.kill(managerPid ?? 0, 'SIGCONT')
  await cluster.whole()
  expect(writer.longestPause().pauseMs).toBeLessThan(5_000)
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expect(await writer.check()).toMatchObject({ lost: [], differing: [] })
})

// Detection, promises, commit, promotion and the route's move all lie within the first two tenths of a second.
it.each([5, 25, 50, 90, 150])('A failover whose manager is killed %i ms after the primary ends well under the next manager', async (delayMs) => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const writer = await Writer.start(cluster)
  const faulted = cluster.fault(from, 'kill-mysqld')
  await sleep(delayMs)
  await cluster.replaceManager()
  expect(await writer.outageSince(await faulted)).toBeLessThan(15_000)
  const view = await cluster.whole()
  expect(view.primary).not.toBe(from)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it.each([10, 40, 80])('A switchover whose manager is killed after %i ms is undone or done, never half', async (delayMs) => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const asked = cluster.switchover().catch((error: unknown) => error)
  await sleep(delayMs)
  await cluster.replaceManager()
  await asked
  await cluster.whole()
  await writer.next()
  expect((await cluster.explain()).record?.intent).toBeNull()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
