import { describe, expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const reset = 'reset binary logs and gtids'
const whole = { lost: [], duplicated: [], differing: [] }

/** So often an agent was told to be seeded again and refused. */
async function refusals(cluster: TestCluster): Promise<number> {
  return (await logOf(cluster, 'manager')).split('\n').filter((line) => line.includes('the order destroys')).length
}

/** Waits until an instance is a copy: another server. */
async function copied(cluster: TestCluster, instance: string, uuid: string): Promise<void> {
  await cluster.until(
    `${instance} is a copy`,
    async () => (await cluster.value(instance, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    90_000,
  )
}

async function resetReplica(cluster: TestCluster, instances: number): Promise<void> {
  await cluster.whole(instances)
  const [replica = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  await byHand(cluster, replica, reset)
  await copied(cluster, replica, uuid)
  await cluster.whole(instances, 120_000)
  await writer.next()
  expect(await logOf(cluster, replica)).toContain('the GTIDs were reset by another hand')
  expect(await refusals(cluster)).toBeLessThan(10)
  expect(await writer.check()).toMatchObject({ ...whole, instances })
}

describe('Of three instances', () => {
  const shop = withCluster()

  it('a replica whose GTIDs were reset is seeded again, also one that was primary before', async () => {
    const cluster = shop.current
    await cluster.whole()
    const [to = ''] = await cluster.replicas()
    await cluster.switchover({ to })
    await resetReplica(cluster, 3)
  }, 300_000)

  it('a primary whose GTIDs were reset is replaced by a replica that holds everything acknowledged, and seeded again', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    await writer.next()
    const primary = await cluster.primary()
    const uuid = await cluster.value(primary, 'select @@server_uuid')
    await byHand(cluster, primary, reset).catch(() => undefined)
    await cluster.waitFor('another one leads', (view) => view.writable && view.primary !== primary, 60_000)
    await copied(cluster, primary, uuid)
    await cluster.whole(3, 120_000)
    await writer.next()
    expect(await writer.check()).toMatchObject({ ...whole, instances: 3 })
  }, 300_000)
})

describe('Of two instances', () => {
  const pair = withCluster({ name: 'pair', instances: 2 })

  it('the replica whose GTIDs were reset is copied beside what it has, and writes go on by themselves', async () => {
    await resetReplica(pair.current, 2)
  }, 300_000)

  it('the replica that lacks what the primary has purged, which nobody saw, strays: it is copied, and writes go on by themselves', async () => {
    const cluster = pair.current
    await cluster.whole(2)
    const primary = await cluster.primary()
    const [replica = ''] = await cluster.replicas()
    const writer = await Writer.start(cluster)
    await writer.next()
    await byHand(cluster, primary, 'flush binary logs')
    const status = (await cluster.sql(primary, 'show binary log status'))[0] ?? {}
    await byHand(cluster, primary, `purge binary logs to '${String(status['File'])}'`)
    const { agentPid } = await cluster.instance(replica)
    const uuid = await cluster.value(replica, 'select @@server_uuid')
    // Its agent sees nothing of it, and the next one finds a server that was never another.
    process.kill(agentPid ?? 0, 'SIGSTOP')
    await byHand(cluster, replica, 'stop replica', reset, 'start replica')
    process.kill(agentPid ?? 0, 'SIGKILL')
    await copied(cluster, replica, uuid)
    await cluster.whole(2, 120_000)
    await writer.next()
    expect(await writer.check()).toMatchObject({ ...whole, instances: 2 })
  }, 300_000)
})
