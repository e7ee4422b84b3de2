import { expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { untilWaiting } from '#test/support/deaf-replicas.ts'
import { logOf } from '#test/support/instance-files.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** An empty instance is always seeded by CLONE here, the replica of the new cluster too. */
const pair = withCluster({ name: 'pair', instances: 2, spec: { cloneAboveTransactions: 0 } })

/** The primary's history is not there to be replicated: only a copy helps. */
async function purgeBinlogs(cluster: TestCluster): Promise<void> {
  await cluster.sql('pair-0', 'flush binary logs')
  await cluster.sql('pair-0', 'purge binary logs before now() + interval 1 day')
}

it('A cluster of two whose only replica lost its volume while a write waits seeds it from the primary and takes writes again, without a person', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const writer = await Writer.start(cluster)
  await cluster.sql('pair-0', 'create table app.waited (id int primary key)', { user: 'client' })
  await purgeBinlogs(cluster)
  await loseVolume(cluster, 'pair-1')
  const waiting = await cluster.session('pair-0', 'client')
  const write = waiting.query('insert into app.waited values (1)').then(
    () => 'acknowledged',
    () => 'of unknown outcome',
  )
  await untilWaiting(cluster, 'pair-0', 1)
  await cluster.fault('pair-1', 'start')
  await cluster.whole(2, 90_000)
  expect(await write).toBe('of unknown outcome')
  waiting.destroy()
  await writer.next(monotonicMs())
  expect(await logOf(cluster, 'pair-1')).toContain('seeded from pair-0')
  expect(await cluster.primary()).toBe('pair-0')
  expect(await cluster.value('pair-0', 'select count(*) from app.waited')).toBe(
    await cluster.value('pair-1', 'select count(*) from app.waited'),
  )
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})

it('The primary that is copied is given back although its agent and the manager die meanwhile', async () => {
  const cluster = pair.current
  const writer = await Writer.start(cluster)
  await purgeBinlogs(cluster)
  await loseVolume(cluster, 'pair-1')
  await cluster.fault('pair-1', 'start')
  await cluster.waitFor(
    'pair-0 closes to be copied',
    ({ sentence }) => sentence.includes('from pair-0') || sentence.includes('it closes first'),
    60_000,
  )
  await Promise.all([cluster.fault('pair-0', 'kill-agent'), cluster.replaceManager()])
  await cluster.fault('pair-0', 'start')
  await cluster.whole(2, 90_000)
  await writer.next(monotonicMs())
  expect(await cluster.primary()).toBe('pair-0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})
