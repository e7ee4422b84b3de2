import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { waitingTransactions } from '#test/support/lone-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

it('A primary whose agent alone is dead stays primary and writable, and the manager says why it does nothing', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'kill-agent')
  await cluster.waitFor(
    'the manager says so',
    ({ sentence }) => /agent of shop-0 is unreachable but shop-1 and shop-2 still hear its server/.test(sentence),
    5_000,
  )
  // Longer than any lease.
  await sleep(7_000)
  expect(await cluster.topology()).toMatchObject({
    primary: 'shop-0',
    epoch: 1,
    writable: null,
    writableUnknown: {
      likely: true,
      sentence: expect.stringMatching(
        /^whether shop-0 takes writes is not known: .*shop-1 and shop-2 still hear its server; .*it took writes\./,
      ) as string,
    },
  })
  expect(await cluster.topology()).not.toHaveProperty('wayOut')
  expectBelow(5_000, writer.longestPause().pauseMs)
  await writer.stop()
})

it('An agent that is started again finds its mysqld as it was', async () => {
  const cluster = shop.current
  const before = await cluster.instance('shop-0')
  expect(before.pid).not.toBeNull()
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'start')
  await cluster.whole()
  expect(await cluster.instance('shop-0')).toMatchObject({ pid: before.pid, role: 'primary' })
  expectBelow(5_000, writer.longestPause().pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], differing: [] })
})

it('An agent that dies by itself is started again by the supervisor, and its mysqld goes on', async () => {
  const cluster = shop.current
  const before = await cluster.instance('shop-1')
  process.kill(before.agentPid ?? 0, 'SIGKILL')
  await cluster.until('another agent', async () => {
    const { agentPid } = await cluster.instance('shop-1')
    return agentPid !== null && agentPid !== before.agentPid
  })
  await cluster.whole()
  expect(await cluster.instance('shop-1')).toMatchObject({ pid: before.pid })
})

it('A frozen agent of the primary changes nothing for clients', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'freeze-agent')
  await sleep(4_000)
  await cluster.fault('shop-0', 'thaw-agent')
  expect(await cluster.whole()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expectBelow(5_000, writer.longestPause().pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], differing: [] })
})

it('A primary whose mysqld dies while its agent is dead already is replaced', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await cluster.fault('shop-0', 'kill-agent')
  await cluster.waitFor(
    'the manager has noticed',
    ({ sentence }) => sentence.includes('agent of shop-0 is unreachable'),
    5_000,
  )
  const atMs = await cluster.fault('shop-0', 'kill-mysqld')
  expectBelow(10_000, await writer.outageSince(atMs))
  await cluster.fault('shop-0', 'start')
  const view = await cluster.whole()
  expect(view.primary).not.toBe('shop-0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('An agent that finds its primary open, with the channel that it followed by, ends nobody who waits for an acknowledgement', async () => {
  const cluster = shop.current
  await cluster.whole()
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table if not exists app.waited (id int auto_increment primary key)', {
    user: 'client',
  })
  const deaf = await deafenReplicas(cluster)
  const sessions = await Promise.all([1, 2, 3].map(() => cluster.session(primary, 'client', 20_000)))
  const answers: boolean[] = []
  const insert = (session: Connection) =>
    session.query('insert into app.waited values ()').then(
      () => true,
      () => false,
    )
  const all = Promise.all(sessions.map(async (session) => answers.push(await insert(session))))
  const admin = await cluster.session(primary)
  await cluster.until('every write waits', async () => (await waitingTransactions(admin)) >= sessions.length)
  await cluster.fault(primary, 'freeze-agent')
  // As an opening leaves it for a moment.
  await cluster.sql(primary, "change replication source to source_host = '127.0.0.1', source_auto_position = 1")
  await cluster.fault(primary, 'kill-agent')
  await cluster.fault(primary, 'start')
  const channels = 'select count(*) from performance_schema.replication_connection_configuration'
  await cluster.until('the channel is gone', async () => (await cluster.value(primary, channels)) === '0')
  expect(answers).toEqual([])
  await deaf.end()
  await all
  expect(answers).toEqual([true, true, true])
  await cluster.whole()
  expect(await cluster.primary()).toBe(primary)
})
