import { expect, it } from 'vitest'
import { deafenReplicas } from '../support/deaf-replicas.ts'
import type { TestCluster } from '../support/cluster.ts'
import { waitingTransactions } from '../support/lone-server.ts'
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

const clients = 8

it.each([
  ['SIGTERM', terminate],
  ['SHUTDOWN', shutdown],
] as const)('What a client was told during a stop with %s survives, though no replica could acknowledge it', async (_how, stop) => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  await cluster.sql(from, 'create table if not exists app.told (id int auto_increment primary key)', { user: 'client' })
  const there = Number(await cluster.value(from, 'select count(*) from app.told'))
  const deaf = await deafenReplicas(cluster)
  const sessions = await Promise.all(Array.from({ length: clients }, () => cluster.session(from, 'client', 10_000)))
  const answers = Promise.all(sessions.map((session) => session.query('insert into app.told values ()').then(() => true, () => false)))
  const admin = await cluster.session(from)
  await cluster.until('every write is in the binlog and waits', async () => (await waitingTransactions(admin)) >= clients)
  const { pid } = await cluster.instance(from)
  // It would end the server before that acknowledges what waits (ended-how.test.ts), and nobody would be told anything.
  await cluster.fault(from, 'freeze-agent')
  await stop(cluster, from)
  const told = (await answers).filter((was) => was).length
  await cluster.fault(from, 'thaw-agent')
  expect(told).toBeGreaterThan(0)
  await cluster.otherMysqld(from, pid)
  await deaf.end()
  await cluster.whole()
  for (const { name } of (await cluster.view()).instances) {
    // A replica that is whole has received everything, and may still be applying it.
    await cluster.until(`${name} has the ${there + told} writes that clients were told of`, async () => Number(await cluster.value(name, 'select count(*) from app.told')) >= there + told, 15_000)
  }
})
