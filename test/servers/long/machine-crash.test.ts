import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const all = ['shop-0', 'shop-1', 'shop-2']

const bootFile = (cluster: TestCluster, name: string) => join(cluster.layout.instances, `${name}.boot`)

/** Lets each instance believe that it has a machine of its own. */
async function giveMachines(cluster: TestCluster): Promise<void> {
  await cluster.regent('local', 'down', 'shop')
  for (const name of all) {
    await boot(cluster, name)
    const path = agentConfigPath(cluster.layout, name)
    const config = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...config, bootIdFile: bootFile(cluster, name) }))
  }
  await cluster.upAgain()
}

/** Another boot id, as after a crash of the machine. */
function boot(cluster: TestCluster, name: string): Promise<void> {
  return writeFile(bootFile(cluster, name), `${crypto.randomUUID()}\n`)
}

async function crash(cluster: TestCluster, name: string): Promise<void> {
  await cluster.fault(name, 'kill')
  await boot(cluster, name)
}

async function newIn(before: string, cluster: TestCluster, name: string): Promise<string> {
  return (await logOf(cluster, name)).slice(before.length)
}

it('A follower whose machine crashed counts for nothing until it has caught up, and says so', async () => {
  const cluster = shop.current
  await giveMachines(cluster)
  const { primary } = await cluster.whole()
  const [follower = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const log = await logOf(cluster, follower)
  await crash(cluster, follower)
  await cluster.fault(follower, 'start')
  await cluster.until('it says so', async () => /the machine crashed/.test(await newIn(log, cluster, follower)))
  await cluster.until('it has caught up', async () =>
    /caught up with everything its primary holds and counts again/.test(await newIn(log, cluster, follower)),
  )
  expect(await cluster.whole()).toMatchObject({ primary })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A follower whose machine crashed counts again soon on a cluster that nobody writes to', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [follower = ''] = await cluster.replicas()
  await crash(cluster, follower)
  await cluster.fault(follower, 'start')
  await cluster.waitFor(
    'it has left',
    ({ instances }) => instances.some(({ name, inSyncSet }) => name === follower && !inSyncSet),
    10_000,
  )
  expect(await cluster.whole(3, 20_000)).toMatchObject({ primary })
})

it('A power cut of all machines at once loses nothing, and the primary comes back first', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const { primary } = await cluster.view()
  await Promise.all(all.map((name) => crash(cluster, name)))
  await Promise.all(all.map((name) => cluster.fault(name, 'start')))
  await writer.next(undefined, { deadlineMs: 60_000 })
  expect(await cluster.whole()).toMatchObject({ primary })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Followers whose machines crashed never make a primary on their own', async () => {
  const cluster = shop.current
  const primary = await cluster.primary()
  const followers = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await Promise.all(all.map((name) => crash(cluster, name)))
  await Promise.all(followers.map((name) => cluster.fault(name, 'start')))
  const view = await cluster.waitFor(
    'the manager says why',
    ({ blocked, sentence }) => blocked && sentence.includes('no automatic failover'),
    20_000,
  )
  expect(view).toMatchObject({ primary, writable: false })
  await cluster.fault(primary, 'start')
  await writer.next(undefined, { deadlineMs: 60_000 })
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
