import type { Connection } from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const graceMs = 5_000
const timeoutMs = 20_000
const shop = withCluster({ spec: { switchover: { graceMs, timeoutMs } } })

/** A statement younger than 0.1 s is not waited for: the switchover would be over before the statement counts. */
const sleepingForLong =
  "select count(*) from performance_schema.events_statements_current where sql_text = 'select sleep(60)' and timer_wait > 0.2e12"

/** The grace has begun. */
function beginsGrace(from: string): Promise<unknown> {
  return shop.current.waitFor(
    `${from} is told to stop`,
    ({ sentence }) => sentence.endsWith(`${from} stops taking writes`),
    timeoutMs,
  )
}

it('A statement and a transaction that end within the grace succeed, and no more of it is waited for', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  await cluster.sql(from, 'create table app.kept (id int primary key)', { user: 'client' })
  const writer = await Writer.start(cluster)
  const [open, running] = [await cluster.session(from, 'client'), await cluster.session(from, 'client')]
  await open.query('start transaction')
  await open.query('insert into app.kept values (1)')
  await open.query('select sleep(0.2)')
  const atMs = monotonicMs()
  const switched = cluster.switchover()
  await beginsGrace(from)
  const begunMs = monotonicMs()
  expect(await running.query('select sleep(0.5) as slept')).toMatchObject([[{ slept: 0 }], {}])
  await open.query('commit')
  expect(await switched).toMatchObject({ done: true })
  expectBelow(graceMs, monotonicMs() - begunMs)
  open.destroy()
  running.destroy()
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect(await cluster.value(await cluster.primary(), 'select count(*) from app.kept')).toBe('1')
  expectBelow(2_000, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A statement that runs longer than the grace is killed after it, other writes go on until then, and the switchover is done within its deadline', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  const writer = await Writer.start(cluster)
  const running = await cluster.session(from, 'client')
  const killed = running.query('select sleep(60)').then(
    () => 'it ended',
    () => monotonicMs(),
  )
  await cluster.until('the statement counts as long', async () => (await cluster.value(from, sleepingForLong)) !== '0')
  const atMs = monotonicMs()
  const switched = cluster.switchover()
  await beginsGrace(from)
  const begunMs = monotonicMs()
  expect(await switched).toMatchObject({ done: true })
  expectBelow(timeoutMs, monotonicMs() - atMs)
  // It began a moment before it was seen to.
  expect(Number(await killed) - begunMs).toBeGreaterThan(graceMs / 2)
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expectBelow(graceMs / 2, writer.longestPause(atMs).pauseMs)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

const waitingForLock =
  "select count(*) from performance_schema.threads where processlist_state like 'Waiting for % lock'"

describe.each(['old primary', 'candidate'])('In the way at the %s', (where) => {
  it.each<[string, (session: Connection) => Promise<unknown>]>([
    ['a global lock', (session) => session.query('flush tables with read lock')],
    ['a backup lock', (session) => session.query('lock instance for backup')],
    [
      'an idle transaction that has read a table',
      (session) => session.query('start transaction').then(() => session.query('select * from app.changed')),
    ],
  ])(
    '%s, for which a change of a table waits, does not stop a switchover: its session is ended, and nothing is lost',
    async (what, hold) => {
      const cluster = shop.current
      await cluster.whole()
      const from = await cluster.primary()
      const [to = ''] = await cluster.replicas()
      const at = where === 'candidate' ? to : from
      await cluster.sql(from, 'create table if not exists app.changed (id int primary key)', { user: 'client' })
      await cluster.whole()
      const writer = await Writer.start(cluster)
      const [holder, changing] = [await cluster.session(at), await cluster.session(from, 'client')]
      await hold(holder)
      const changed = changing.query(`alter table app.changed comment '${where}, ${what}'`).then(
        () => 'done',
        () => 'of unknown outcome',
      )
      await cluster.until('it is in the way', async () => (await cluster.value(at, waitingForLock)) !== '0')
      expect(await cluster.switchover({ to })).toMatchObject({ done: true })
      await writer.next(monotonicMs(), { deadlineMs: 5_000 })
      await expect(holder.query('select 1')).rejects.toThrow()
      if (where === 'candidate') expect(await changed).toBe('done')
      await changed
      changing.destroy()
      expect(await cluster.whole()).toMatchObject({ primary: to })
      expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
      const comments = await Promise.all(
        ['shop-0', 'shop-1', 'shop-2'].map((name) =>
          cluster.value(name, "select table_comment from information_schema.tables where table_name = 'changed'"),
        ),
      )
      expect(new Set(comments).size).toBe(1)
      if ((await changed) === 'done') expect(comments[0]).toBe(`${where}, ${what}`)
    },
  )
})
