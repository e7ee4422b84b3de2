import { existsSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { volumeLayout } from '../../../agents/instance/volume-layout.ts'
import { byHand } from '../../support/by-hand.ts'
import type { TestCluster } from '../../support/cluster.ts'
import { archivesOf, logOf } from '../../support/instance-files.ts'
import { killAndSlowDown, untilCopying } from '../../support/slow-copies.ts'
import { withCluster } from '../../support/with-cluster.ts'
import { Writer } from '../../support/writer.ts'

/** Of two instances the sync set can never spare the replica. */
const pair = withCluster({ name: 'pair', instances: 2 })

function writeByHand(cluster: TestCluster, replica: string, table: string): Promise<void> {
  return byHand(cluster, replica, 'set global super_read_only = off', `create table app.${table} (id int primary key)`)
}

async function besideDirOf(cluster: TestCluster, name: string): Promise<string> {
  return volumeLayout((await cluster.instance(name)).volume).besideDir
}

it('The only replica, on which somebody wrote, is archived and copied beside what it has; then writes go on by themselves', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const uuid = await cluster.value(replica, 'select @@server_uuid')
  let counted = true
  const unsubscribe = cluster.views.subscribe(({ syncSet }) => (counted &&= syncSet.includes(replica)))
  await writeByHand(cluster, replica, 'errant')
  await cluster.waitFor(
    'it is said how',
    ({ sentence }) =>
      sentence.includes('the sync set cannot spare it: it is copied from pair-0 beside what it has') ||
      /is seeded from pair-0 \(/.test(sentence),
    60_000,
  )
  await cluster.until(
    `${replica} is a copy`,
    async () => (await cluster.value(replica, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    60_000,
  )
  await cluster.whole(2)
  await writer.next()
  unsubscribe()
  expect(counted).toBe(true)
  expect((await archivesOf(cluster, replica)).map(({ description }) => description.kind)).toEqual(['errant'])
  await expect(cluster.sql(replica, 'select * from app.errant')).rejects.toMatchObject({ errno: 1146 })
  await cluster.until('what it had is gone', async () => !existsSync(await besideDirOf(cluster, replica)))
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})

it('When its agent dies before the copy is proven, what it had is in its place again, and it is copied once more', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const { agentPid } = await cluster.instance(replica)
  const beside = await besideDirOf(cluster, replica)
  await writeByHand(cluster, replica, 'errant_again')
  for (const until = Date.now() + 60_000; !existsSync(beside); await immediate())
    if (Date.now() > until) throw new Error('nothing was swapped')
  process.kill(agentPid ?? 0, 'SIGKILL')
  await cluster.until(
    'what was there before is back',
    async () => (await logOf(cluster, replica)).includes('a copy was not proven'),
    60_000,
  )
  await cluster.whole(2, 120_000)
  await writer.next()
  await expect(cluster.sql(replica, 'select * from app.errant_again')).rejects.toMatchObject({ errno: 1146 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
}, 240_000)

it('When the primary dies while its only replica is copied, that leads with all that was acknowledged', async () => {
  const cluster = pair.current
  await cluster.whole(2)
  const [replica = ''] = await cluster.replicas()
  const primary = await cluster.primary()
  const { pid } = await cluster.instance(replica)
  await killAndSlowDown(cluster, replica)
  await cluster.fault(replica, 'start')
  await cluster.otherMysqld(replica, pid)
  await cluster.whole(2)
  const writer = await Writer.start(cluster)
  await writeByHand(cluster, replica, 'kept')
  await untilCopying(cluster, replica)
  await cluster.fault(primary, 'kill')
  await cluster.waitFor(`${replica} leads`, (view) => view.primary === replica, 60_000)
  await cluster.fault(primary, 'start')
  await cluster.whole(2, 150_000)
  await writer.next()
  // Nobody can know that this was by hand: it leads with all it has.
  expect(await cluster.value(replica, 'select count(*) from app.kept')).toBe('0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
}, 400_000)
