import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { withCluster } from '../support/with-cluster.ts'
import { Writer } from '../support/writer.ts'

const shop = withCluster()

it('A primary whose agent alone is dead stays primary and writable, and the manager says why it does nothing', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'kill-agent')
  await cluster.waitFor('the manager says so', ({ sentence }) => /agent of shop-0 is unreachable but .* no failover/.test(sentence), 5_000)
  // Longer than any lease.
  await sleep(7_000)
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expect(writer.longestPause().pauseMs).toBeLessThan(5_000)
  await writer.stop()
})

it('An agent that is started again finds its mysqld as it was', async () => {
  const cluster = shop.current
  const before = await cluster.instance('shop-0')
  expect(before.pid).not.toBeNull()
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'start')
  await cluster.whole()
  expect(await cluster.instance('shop-0')).toMatchObject({ pid: before.pid, role: 'primary' })
  expect(writer.longestPause().pauseMs).toBeLessThan(5_000)
  expect(await writer.check()).toMatchObject({ lost: [], differing: [] })
})

it('An agent that dies by itself is started again by the supervisor, and its mysqld goes on', async () => {
  const cluster = shop.current
  const before = await cluster.instance('shop-1')
  process.kill(before.agentPid ?? 0, 'SIGKILL')
  await cluster.until('another agent', async () => {
    const { agentPid } = await cluster.instance('shop-1')
    return agentPid !== null && agentPid !== before.agentPid
  })
  await cluster.whole()
  expect(await cluster.instance('shop-1')).toMatchObject({ pid: before.pid })
})

it('A frozen agent of the primary changes nothing for clients', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'freeze-agent')
  await sleep(4_000)
  await cluster.fault('shop-0', 'thaw-agent')
  expect(await cluster.whole()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expect(writer.longestPause().pauseMs).toBeLessThan(5_000)
  expect(await writer.check()).toMatchObject({ lost: [], differing: [] })
})

it('A primary whose mysqld dies while its agent is dead already is replaced', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'kill-agent')
  await cluster.waitFor('the manager has noticed', ({ sentence }) => sentence.includes('agent of shop-0 is unreachable'), 5_000)
  const atMs = await cluster.fault('shop-0', 'kill-mysqld')
  expect(await writer.outageSince(atMs)).toBeLessThan(10_000)
  await cluster.fault('shop-0', 'start')
  const view = await cluster.whole()
  expect(view.primary).not.toBe('shop-0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
