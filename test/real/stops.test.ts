import { expect, it } from 'vitest'
import { deafenReplicas, untilWaiting } from '../support/deaf-replicas.ts'
import type { TestCluster } from '../support/cluster.ts'
import { withCluster } from '../support/with-cluster.ts'
import { Writer } from '../support/writer.ts'

const shop = withCluster()

async function terminate(cluster: TestCluster, primary: string): Promise<void> {
  process.kill((await cluster.instance(primary)).pid ?? 0, 'SIGTERM')
}

async function shutdown(cluster: TestCluster, primary: string): Promise<void> {
  const session = await cluster.session(primary)
  await session.query('shutdown')
  session.destroy()
}

it.each([
  ['SIGTERM', terminate],
  ['SHUTDOWN', shutdown],
] as const)('A primary that another hand stops with %s under load loses nothing that a client was told', async (_how, stop) => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const writers = [await Writer.start(cluster), await Writer.start(cluster, { table: 'more', everyMs: 0 })]
  const { pid } = await cluster.instance(from)
  await stop(cluster, from)
  await cluster.otherMysqld(from, pid)
  await cluster.whole()
  for (const writer of writers) await writer.next()
  for (const writer of writers) expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it.each([
  ['SIGTERM', terminate],
  ['SHUTDOWN', shutdown],
] as const)('What a client was told during a stop with %s survives, though no replica could acknowledge it', async (_how, stop) => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  await cluster.sql(from, 'create table if not exists app.told (id int auto_increment primary key)', { user: 'client' })
  const before = Number(await cluster.value(from, 'select count(*) from app.told'))
  const deaf = await deafenReplicas(cluster)
  const sessions = await Promise.all([1, 2, 3, 4].map(() => cluster.session(from, 'client')))
  const answers = Promise.all(sessions.map((session) => session.query('insert into app.told values ()').then(() => true, () => false)))
  await untilWaiting(cluster, from, 1)
  const { pid } = await cluster.instance(from)
  await stop(cluster, from)
  const told = (await answers).filter((was) => was).length
  await deaf.end()
  await cluster.otherMysqld(from, pid)
  await cluster.whole()
  for (const { name } of (await cluster.view()).instances) {
    // A replica that is whole has received everything, and may still be applying it.
    await cluster.until(`${name} has the ${before + told} writes that clients were told of`, async () => Number(await cluster.value(name, 'select count(*) from app.told')) >= before + told, 15_000)
  }
})
