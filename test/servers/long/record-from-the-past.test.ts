import { cp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { realDisk } from '#common/ports/real-world.ts'
import { askSupervisor } from '#local/supervisor/control.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import type { ClusterView } from '#api-contract/views.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

/** Makes a backup of the store, and lets the record move on to another epoch: whole again with another primary. */
async function outdateBackup(cluster: TestCluster): Promise<ClusterView> {
  const { records } = cluster.layout
  const [to = ''] = await cluster.replicas()
  await cp(records, `${records}.backup`, { recursive: true })
  await cluster.switchover({ to })
  const view = await cluster.whole()
  expect(view.primary).toBe(to)
  return view
}

/** No manager runs: the store is what it was when the backup was made. */
async function putBackupBack({ layout: { records } }: TestCluster): Promise<void> {
  await rename(records, `${records}.newer`)
  await rename(`${records}.backup`, records)
}

/** No manager runs: the store is the right one again. */
async function restoreNewer({ layout: { records } }: TestCluster): Promise<void> {
  await rm(records, { recursive: true })
  await rename(`${records}.newer`, records)
}

async function withoutManager(cluster: TestCluster, work: (cluster: TestCluster) => Promise<void>): Promise<void> {
  const tell = (command: 'start' | 'stop') =>
    askSupervisor(cluster.layout.control, { command, process: managerProcess }, 30_000)
  await tell('stop')
  await work(cluster)
  await tell('start')
}

/**
 * The manager names an agent that knows newer, both epochs and what a person has to do, and hears every agent but that
 * of `dead`.
 */
function says(newer: ClusterView, old: ClusterView, dead = ''): (view: ClusterView) => boolean {
  const sentence = new RegExp(
    `^record from the past: shop-\\d stored promise ${newer.epoch}, revision \\d+; the record says epoch ${old.epoch}, revision \\d+\\. Nothing is ordered until a person restores the newer record$`,
  )
  return (view) =>
    view.blocked &&
    sentence.test(view.sentence) &&
    view.instances.every(({ name, reachable }) => reachable === (name !== dead))
}

/** What every agent promised and acts by, and which revision of the record the store has. */
async function everythingOrdered(cluster: TestCluster): Promise<unknown> {
  const { instances } = await cluster.status()
  const agents = instances.map(async ({ name, volume }) => {
    const { current } = await StoredStateFile.open(realDisk, volumeLayout(volume).stateFile, () => freshState('', ''))
    return { name, promise: current.promise, revision: current.revision, assignment: current.assignment }
  })
  return { agents: await Promise.all(agents), record: await readdir(join(cluster.layout.records, 'record.shop')) }
}

/** Orders that this run of the manager sent and has an answer to, a refusal among them. */
async function ordersSent(cluster: TestCluster): Promise<readonly string[]> {
  const { api } = await cluster.status()
  const metrics = await (await fetch(`${api}/metrics`)).text()
  expect(metrics).toContain('# TYPE regent_agent_round_trip_seconds')
  return metrics.split('\n').filter((line) => line.startsWith('regent_agent_round_trip_seconds_count'))
}

it('A cluster that is started with a record from an old backup orders nothing, says what to do, and is whole with the newer record', async () => {
  const cluster = shop.current
  const old = await cluster.whole()
  const names = old.instances.map(({ name }) => name)
  const writer = await Writer.start(cluster)
  const newer = await outdateBackup(cluster)
  await writer.next()
  await withoutManager(cluster, async () => {
    await Promise.all(names.map((name) => cluster.fault(name, 'kill')))
    await putBackupBack(cluster)
  })
  const before = await everythingOrdered(cluster)
  await Promise.all(names.map((name) => cluster.fault(name, 'start')))
  const view = await cluster.waitFor('the manager says so', says(newer, old), 60_000)
  expect(view).toMatchObject({ primary: old.primary, epoch: old.epoch, writable: false })
  expect(await ordersSent(cluster)).toEqual([])
  expect(await everythingOrdered(cluster)).toEqual(before)
  await withoutManager(cluster, restoreNewer)
  expect((await cluster.whole()).epoch).toBeGreaterThanOrEqual(newer.epoch)
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('With a record that went back in time under a cluster that runs writes go on, a dead primary is not replaced, and is once the newer record is there', async () => {
  const cluster = shop.current
  const old = await cluster.whole()
  const writer = await Writer.start(cluster)
  const newer = await outdateBackup(cluster)
  await withoutManager(cluster, putBackupBack)
  await cluster.waitFor('the manager says so', says(newer, old), 60_000)
  await writer.next()
  const from = newer.primary ?? ''
  const before = await everythingOrdered(cluster)
  await cluster.fault(from, 'kill')
  await cluster.waitFor(`nothing follows from the death of ${from}`, says(newer, old, from), 60_000)
  expect(await ordersSent(cluster)).toEqual([])
  expect(await everythingOrdered(cluster)).toEqual(before)
  await withoutManager(cluster, restoreNewer)
  await cluster.waitFor(
    'another primary',
    ({ primary, writable }) => ![from, null].includes(primary) && writable,
    60_000,
  )
  await cluster.fault(from, 'start')
  expect((await cluster.whole()).epoch).toBeGreaterThan(newer.epoch)
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
