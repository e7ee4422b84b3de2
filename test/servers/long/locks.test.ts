import type { Connection } from 'mysql2/promise'
import { afterEach, describe, expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const pair = withCluster({ name: 'pair', instances: 2 })

const sessions: Connection[] = []
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})

/** A session of a person's that has done this, and does nothing more. */
async function hold(cluster: TestCluster, instance: string, ...statements: readonly string[]): Promise<Connection> {
  const session = await cluster.session(instance)
  sessions.push(session)
  for (const statement of statements) await session.query(statement)
  return session
}

/** A statement that may take long; resolves to `done`, or to what the server said against it. */
async function run(cluster: TestCluster, instance: string, statement: string): Promise<string> {
  const session = await hold(cluster, instance)
  return session.query(statement).then(
    () => 'done',
    (error: Error) => error.message,
  )
}

async function isThere(session: Connection): Promise<boolean> {
  return session.query('select 1').then(
    () => true,
    () => false,
  )
}

async function waits(cluster: TestCluster, instance: string, statement: string): Promise<void> {
  const query = `select count(*) from performance_schema.threads where processlist_info = '${statement}' and (processlist_state like 'Waiting for%' or processlist_state = 'waiting for handler commit')`
  await cluster.until(`${statement} waits`, async () => (await cluster.value(instance, query)) === '1')
}

let written = 0

/**
 * The primary's instance dies, the other one leads, and a write waits there: the one that died must have its gate
 * opened before it can end that wait.
 */
async function letOneWait(
  cluster: TestCluster,
): Promise<{ readonly primary: string; readonly gone: string; readonly write: Promise<string> }> {
  const { primary: gone } = await cluster.whole(2)
  const [primary = ''] = await cluster.replicas()
  if (gone === null) throw new Error('there is no primary')
  await cluster.fault(gone, 'kill')
  await cluster.waitFor(`${primary} leads`, (view) => view.primary === primary)
  await cluster.until(
    'it is open',
    async () => (await cluster.value(primary, 'select @@global.read_only').catch(() => '1')) === '0',
  )
  const statement = `insert into app.kept values (${(written += 1)})`
  const write = run(cluster, primary, statement)
  await waits(cluster, primary, statement)
  return { primary, gone, write }
}

const locks: readonly { readonly what: string; readonly holds: readonly string[]; readonly ends: boolean }[] = [
  { what: 'LOCK INSTANCE FOR BACKUP', holds: ['lock instance for backup'], ends: true },
  { what: 'LOCK TABLES mysql.user READ', holds: ['lock tables mysql.user read'], ends: true },
  { what: 'LOCK TABLES mysql.user WRITE', holds: ['lock tables mysql.user write'], ends: true },
  {
    what: 'an idle transaction that has locked the rows of all accounts',
    holds: ['begin', 'select * from mysql.user for update'],
    ends: true,
  },
  { what: 'an idle transaction that has read all accounts', holds: ['begin', 'select * from mysql.user'], ends: false },
]

describe('A write that waits is acknowledged once there is a replica again, whose gate is to be opened', () => {
  it('and nobody is in the way', async () => {
    const cluster = pair.current
    await cluster.sql('pair-0', 'create table app.kept (id int primary key)')
    const { gone, write } = await letOneWait(cluster)
    await cluster.fault(gone, 'start')
    expect(await write).toBe('done')
  })

  it.each(['flush tables with read lock', 'set global read_only = on'])(
    'and “%s” waits behind the write',
    async (statement) => {
      const cluster = pair.current
      const { primary, gone, write } = await letOneWait(cluster)
      const blocker = run(cluster, primary, statement)
      await waits(cluster, primary, statement)
      await cluster.fault(gone, 'start')
      expect(await write).toBe('done')
      expect(await blocker).toBe('Query execution was interrupted')
      expect(await logOf(cluster, primary)).toContain('admin@127.0.0.1 waits for the global read lock')
      await cluster.whole(2)
    },
  )

  it.each(locks.map((lock) => [lock.what, lock] as const))('and in its way is %s', async (_what, { holds, ends }) => {
    const cluster = pair.current
    const { primary, gone, write } = await letOneWait(cluster)
    const holder = await hold(cluster, primary, ...holds)
    await cluster.fault(gone, 'start')
    expect(await write).toBe('done')
    expect(await isThere(holder)).toBe(!ends)
    await cluster.whole(2)
  })

  it('and CREATE USER, which waits for an acknowledgement itself, keeps everybody from logging in', async () => {
    const cluster = pair.current
    const { primary, gone, write } = await letOneWait(cluster)
    const { pid } = await cluster.instance(primary)
    void run(cluster, primary, 'create user somebody')
    // Its own session would be the next that cannot log in.
    await cluster.until('nobody is let in', () =>
      cluster.session(primary, 'admin', 500).then(
        (session) => (session.destroy(), false),
        () => true,
      ),
    )
    await cluster.fault(gone, 'start')
    await cluster.whole(2)
    expect(await write).toMatch(/done|lost/)
    expect((await cluster.instance(primary)).pid).not.toBe(pid)
    for (const name of ['pair-0', 'pair-1']) {
      expect(await cluster.value(name, "select count(*) from mysql.user where user = 'somebody'")).toBe('1')
      expect(await cluster.value(name, 'select count(*) from app.kept')).toBe(String(written))
    }
  })
})

describe('A primary whose acknowledgements were in doubt proves them by a marker', () => {
  const inTheWay = [
    ['flush tables with read lock'],
    ['lock tables regent.marker read'],
    ['begin', 'select * from regent.marker for update'],
  ]

  it.each(inTheWay.map((holds) => [holds.join('; '), holds] as const))(
    'although somebody holds “%s”',
    async (_what, holds) => {
      const cluster = pair.current
      const { primary } = await cluster.whole(2)
      if (primary === null) throw new Error('there is no primary')
      const holder = await hold(cluster, primary, ...holds)
      await byHand(cluster, primary, 'set global rpl_semi_sync_source_wait_no_replica = off')
      await cluster.until('its session is ended', async () => !(await isThere(holder)))
      const inDoubt = async () => (await cluster.explain()).analyses.some(({ code }) => code === 'UnsettledTail')
      await cluster.until('nothing is in doubt', async () => !(await inDoubt()))
      await cluster.whole(2)
    },
  )
})

describe('A backup', () => {
  it.each(['flush tables with read lock', 'lock instance for backup'])(
    'that holds “%s” is left alone while all is well, also while the replica is started again',
    async (statement) => {
      const cluster = pair.current
      const { primary } = await cluster.whole(2)
      if (primary === null) throw new Error('there is no primary')
      const [replica = ''] = await cluster.replicas()
      const holder = await hold(cluster, primary, statement)
      const { pid } = await cluster.instance(replica)
      await cluster.fault(replica, 'kill-mysqld')
      await cluster.otherMysqld(replica, pid)
      await cluster.whole(2)
      expect(await isThere(holder)).toBe(true)
      holder.destroy()
      await (await Writer.start(cluster)).next()
    },
  )

  it('that holds a global read lock is named', async () => {
    const cluster = pair.current
    const { primary } = await cluster.whole(2)
    if (primary === null) throw new Error('there is no primary')
    const holder = await hold(cluster, primary, 'flush tables with read lock')
    const named = async () => (await cluster.explain()).analyses.find(({ code }) => code === 'GlobalLock')
    expect((await cluster.until('it is named', named)).sentence).toContain('admin@127.0.0.1')
    holder.destroy()
    await cluster.until('it is gone', async () => (await named()) === undefined)
  })

  it.each(['flush tables with read lock', 'lock instance for backup', 'lock tables mysql.user read'])(
    'that holds “%s” on a replica keeps that from leading no longer than a moment',
    async (statement) => {
      const cluster = pair.current
      const { primary } = await cluster.whole(2)
      if (primary === null) throw new Error('there is no primary')
      const [replica = ''] = await cluster.replicas()
      const writer = await Writer.start(cluster)
      const holder = await hold(cluster, replica, statement)
      await cluster.fault(primary, 'kill-mysqld')
      await cluster.waitFor(`${replica} leads`, (view) => view.primary === replica && view.writable, 10_000)
      expect(await isThere(holder)).toBe(false)
      await cluster.whole(2)
      await writer.next()
      expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
    },
  )
})
