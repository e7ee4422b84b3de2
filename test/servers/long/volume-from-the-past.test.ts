import { expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { putBack, takeSnapshot } from '#test/support/volume-snapshot.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

/** Kills the agent alone, and waits for the next one to be there. */
async function startAgentAgain(cluster: TestCluster, name: string): Promise<void> {
  const starts = async () => (await logOf(cluster, name)).split('agent listens').length
  const before = await starts()
  await cluster.fault(name, 'kill-agent')
  await cluster.fault(name, 'start')
  await cluster.until(`another agent of ${name}`, async () => (await starts()) > before)
}

/** How often the agent was told that its volume went back in time. */
async function timesTold(cluster: TestCluster, name: string): Promise<number> {
  return [
    ...(await logOf(cluster, name)).matchAll(
      /the volume went back in time: it was \w+ and is a new member, \w+, from now on/g,
    ),
  ].length
}

/** The instance's problems in the manager's view, as one text. */
async function problemsOf(cluster: TestCluster, name: string): Promise<string> {
  return troublesOf((await cluster.view()).instances, name)
}

it('Three starts of an agent without a manager are no reason for doubt', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [name = ''] = await cluster.replicas()
  const uuid = await cluster.value(name, 'select @@server_uuid')
  await cluster.signalManager('SIGSTOP')
  try {
    for (let starts = 0; starts < 3; starts += 1) await startAgentAgain(cluster, name)
  } finally {
    await cluster.signalManager('SIGCONT')
  }
  await cluster.whole()
  expect(await problemsOf(cluster, name)).not.toContain('went back in time')
  expect(await cluster.value(name, 'select @@server_uuid')).toBe(uuid)
  expect(await logOf(cluster, name)).not.toContain('went back in time')
})

it('Replicas that are all started again where they were acknowledge writes without a manager', async () => {
  const cluster = shop.current
  await cluster.whole()
  const replicas = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await cluster.signalManager('SIGSTOP')
  try {
    await Promise.all(replicas.map((name) => cluster.fault(name, 'kill')))
    await Promise.all(replicas.map((name) => cluster.fault(name, 'start')))
    for (const name of replicas)
      await cluster.until(
        `${name} answers again`,
        async () => (await cluster.value(name, 'select 1').catch(() => '')) === '1',
      )
    await writer.next()
  } finally {
    await cluster.signalManager('SIGCONT')
  }
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A replica whose volume went back in time counts for nothing, says so, is seeded again and counts as a new member', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [name = ''] = await cluster.replicas()
  await takeSnapshot(cluster, name)
  const uuid = await cluster.value(name, 'select @@server_uuid')
  const writer = await Writer.start(cluster)
  await writer.next()
  await cluster.fault(name, 'kill')
  await putBack(cluster, name)
  await cluster.fault(name, 'start')
  await cluster.until('it says so', async () => (await timesTold(cluster, name)) === 1)
  await cluster.until(
    'it is a copy',
    async () => (await cluster.value(name, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    90_000,
  )
  expect(await cluster.whole(3, 120_000)).toMatchObject({ primary })
  await cluster.until('no problem is left', async () => (await problemsOf(cluster, name)) === '')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 240_000)

it('A replica whose promise went back makes no primary, and nobody else one with it', async () => {
  const cluster = shop.current
  const [name = '', other = ''] = await cluster.replicas()
  await takeSnapshot(cluster, name)
  // Everybody promises another epoch, which the copy knows nothing of.
  await cluster.switchover({ to: other })
  const { primary } = await cluster.whole()
  expect(primary).toBe(other)
  const told = await timesTold(cluster, name)
  const writer = await Writer.start(cluster)
  await writer.next()
  await Promise.all([cluster.fault(name, 'kill'), cluster.fault(other, 'kill')])
  await putBack(cluster, name)
  // While the primary counts as well, the replica may be told at once.
  await cluster.waitFor(`${other} is gone`, ({ instances }) =>
    instances.some((row) => row.name === other && !row.reachable),
  )
  await cluster.fault(name, 'start')
  const view = await cluster.waitFor(
    'the manager says why',
    ({ blocked, sentence }) => blocked && sentence.includes('no automatic failover'),
    20_000,
  )
  expect(view).toMatchObject({ primary: other, writable: false })
  expect(await timesTold(cluster, name)).toBe(told)
  await cluster.fault(other, 'start')
  await writer.next(undefined, { deadlineMs: 60_000 })
  await cluster.until('it is told, now that another leads', async () => (await timesTold(cluster, name)) === told + 1)
  await cluster.whole(3, 120_000)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 240_000)
