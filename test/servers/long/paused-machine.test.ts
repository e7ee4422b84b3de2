import { expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

it('A pause of agents and manager that is longer than the lease ends no session, and the primary stays open', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  if (primary === null) throw new Error('there is no primary')
  const writer = await Writer.start(cluster)
  const session = await cluster.session(primary, 'client')
  const id = async () =>
    JSON.stringify((await session.query('select connection_id(), @@global.offline_mode, @@global.read_only'))[0])
  const before = await id()
  const names = ['shop-0', 'shop-1', 'shop-2']
  await Promise.all(names.map((name) => cluster.fault(name, 'freeze-agent')))
  await cluster.signalManager('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 8_000))
  await cluster.signalManager('SIGCONT')
  await Promise.all(names.map((name) => cluster.fault(name, 'thaw-agent')))
  await cluster.until('the agent says so', async () =>
    /this agent was paused for \d+\.\d s/.test(await logOf(cluster, primary)),
  )
  await cluster.whole()
  // Longer than it asks for another lease before it closes.
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  expect(await id()).toBe(before)
  session.destroy()
  expect(await cluster.primary()).toBe(primary)
  expect(await logOf(cluster, primary)).not.toMatch(/closes itself|by another hand/)
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
