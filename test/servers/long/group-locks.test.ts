import type { Connection } from 'mysql2/promise'
import { afterEach, expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Sessions that hold up what a new primary of a group has to apply before clients may write. */
const shop = withCluster({ spec: { mode: 'group' } })
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
let sessions: readonly Connection[] = []

afterEach(() => {
  for (const session of sessions) session.destroy()
  sessions = []
})

async function hold(instance: string, ...statements: readonly string[]): Promise<Connection> {
  const session = await shop.current.session(instance)
  sessions = [...sessions, session]
  for (const statement of statements) await session.query(statement)
  return session
}

async function isThere(session: Connection): Promise<boolean> {
  return session.query('select 1').then(
    () => true,
    () => false,
  )
}

it.each([
  ['LOCK TABLES … READ, as a mysqldump without --single-transaction', ['lock tables app.held read']],
  ['FLUSH TABLES WITH READ LOCK', ['flush tables with read lock']],
])(
  'A primary dies while a client of each secondary holds %s: the one in the way of the new primary is named and ended',
  async (_, holds) => {
    const cluster = shop.current
    const { primary } = await cluster.whole()
    await cluster.sql(primary!, 'create table if not exists app.held (id int primary key auto_increment)', {
      user: 'client',
    })
    const secondaries = await cluster.replicas()
    for (const name of secondaries)
      await cluster.until(`${name} has the table`, async () =>
        cluster.sql(name, 'select 1 from app.held limit 1').then(
          () => true,
          () => false,
        ),
      )
    const writer = await Writer.start(cluster)
    const holders = new Map<string, Connection>()
    for (const name of secondaries) holders.set(name, await hold(name, ...holds))
    for (let row = 0; row < 20; row += 1)
      await cluster.sql(primary!, 'insert into app.held () values ()', { user: 'client' })
    // A lock alone is no reason: nothing is in anybody's way.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    for (const holder of holders.values()) expect(await isThere(holder)).toBe(true)
    await cluster.fault(primary!, 'kill-mysqld')
    const after = await cluster.waitFor(
      'another one leads',
      (view) => view.primary !== primary && view.writable,
      20_000,
    )
    await writer.next()
    expect(await isThere(holders.get(after.primary!)!)).toBe(false)
    expect(await logOf(cluster, after.primary!)).toMatch(
      /session \d+ of admin@127\.0\.0\.1 holds .*: its session is ended/,
    )
    for (const holder of holders.values()) holder.destroy()
    await cluster.whole()
    expect(await writer.check()).toMatchObject(nothingLost)
  },
)
