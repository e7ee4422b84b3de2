import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { fileStore } from '#store/file.ts'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { waitingTransactions } from '#test/support/lone-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

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
] as const)(
  'A primary that another hand stops with %s under load loses nothing that a client was told',
  async (_how, stop) => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    const writers = [await Writer.start(cluster), await Writer.start(cluster, { table: 'more', everyMs: 0 })]
    const { pid } = await cluster.instance(from)
    await stop(cluster, from)
    await cluster.otherMysqld(from, pid)
    await cluster.whole()
    for (const writer of writers) await writer.next()
    for (const writer of writers)
      expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  },
)

const clients = 8

it.each([
  ['SIGTERM', terminate],
  ['SHUTDOWN', shutdown],
] as const)(
  'What a client was told during a stop with %s survives, though no replica could acknowledge it',
  async (_how, stop) => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    await cluster.sql(from, 'create table if not exists app.told (id int auto_increment primary key)', {
      user: 'client',
    })
    const there = Number(await cluster.value(from, 'select count(*) from app.told'))
    const deaf = await deafenReplicas(cluster)
    const sessions = await Promise.all(Array.from({ length: clients }, () => cluster.session(from, 'client', 10_000)))
    const answers = Promise.all(
      sessions.map((session) =>
        session.query('insert into app.told values ()').then(
          () => true,
          () => false,
        ),
      ),
    )
    const admin = await cluster.session(from)
    await cluster.until(
      'every write is in the binlog and waits',
      async () => (await waitingTransactions(admin)) >= clients,
    )
    const { pid } = await cluster.instance(from)
    // It would end the server before that acknowledges what waits (ended-how.test.ts), and nobody would be told
    // anything.
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
      await cluster.until(
        `${name} has the ${there + told} writes that clients were told of`,
        async () => Number(await cluster.value(name, 'select count(*) from app.told')) >= there + told,
        15_000,
      )
    }
  },
)

it('What clients were told during a stop is waited for by a manager that never heard of that stop', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const there = Number(await cluster.value(from, 'select count(*) from app.told'))
  // Nobody decides anything before the old primary is gone for good.
  expect(await cluster.regent('pause', cluster.name)).toMatchObject({ code: 0 })
  const deaf = await deafenReplicas(cluster)
  const sessions = await Promise.all(Array.from({ length: clients }, () => cluster.session(from, 'client', 10_000)))
  const insert = async (session: Connection) =>
    session.query('insert into app.told values ()').then(
      () => true,
      () => false,
    )
  const answers = Promise.all(sessions.map(insert))
  const admin = await cluster.session(from)
  const waiting = async () => (await waitingTransactions(admin)) >= clients
  await cluster.until('every write is in the binlog and waits', waiting)
  await cluster.fault(from, 'freeze-agent')
  await terminate(cluster, from)
  const told = (await answers).filter((was) => was).length
  expect(told).toBeGreaterThan(0)
  await cluster.fault(from, 'thaw-agent')
  const store = fileStore(cluster.layout.records)
  const noted = async () => (await store.readNotes(cluster.name)).unsettled?.[0]?.member.startsWith(`${from}@`)
  await cluster.until('it is noted', noted)
  await cluster.fault(from, 'kill')
  await cluster.replaceManager()
  await deaf.end()
  await cluster.until('a manager leads', async () => (await cluster.regent('resume', cluster.name)).code === 0)
  const says = /no automatic failover: .*its last writes may have been acknowledged.*bring back/
  await cluster.waitFor('it waits for the old primary', ({ blocked, sentence }) => blocked && says.test(sentence))
  await sleep(3_000)
  expect(await cluster.view()).toMatchObject({ writable: false, primary: from })
  await cluster.fault(from, 'start')
  await cluster.whole()
  const now = await cluster.primary()
  expect(Number(await cluster.value(now, 'select count(*) from app.told'))).toBeGreaterThanOrEqual(there + told)
  await cluster.until('the note is gone', async () => (await store.readNotes(cluster.name)).unsettled === undefined)
})
