import type { Connection } from 'mysql2/promise'
import { afterEach, expect, it } from 'vitest'
import { openMany } from '#test/support/sql-session.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const sessions: Connection[] = []
/** A server needs about a millisecond to end a session, and more on a busy machine. */
const many = 1_500

afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})

async function openSessions(instance: string): Promise<void> {
  const cluster = shop.current
  await cluster.sql(instance, `set global max_connections = ${many + 500}`)
  sessions.push(...(await openMany(many, () => cluster.session(instance, 'client', 60_000))))
}

async function countSessions(instance: string): Promise<number> {
  const query = "select count(*) from information_schema.processlist where user = 'client'"
  return Number(await shop.current.value(instance, query))
}

it('A primary with thousands of idle sessions is handed over, and its sessions are ended', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await openSessions(primary!)
  const switched = await cluster.regent('switchover', '--timeout', '60s')
  expect(switched).toMatchObject({ code: 0 })
  expect((await cluster.whole()).primary).not.toBe(primary)
  expect(await countSessions(primary!)).toBeLessThan(many / 2)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
})

it('A replica with thousands of idle sessions is elected and opens', async () => {
  const cluster = shop.current
  const { primary, epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  for (const replica of await cluster.replicas()) await openSessions(replica)
  const killedMs = await cluster.fault(primary!, 'kill-mysqld')
  await writer.next(killedMs, { deadlineMs: 60_000 })
  expect(await cluster.whole()).toMatchObject({ epoch: (epoch ?? 0) + 1 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
})
