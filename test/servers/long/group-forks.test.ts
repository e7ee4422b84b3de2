import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 120_000
const as = { user: 'client' } as const
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

/** A person stops a member and has the same group begin once more there, alone, while its agent stands still. */
async function forks(name: string): Promise<void> {
  const cluster = shop.current
  await cluster.fault(name, 'freeze-agent')
  await byHand(
    cluster,
    name,
    'stop group_replication',
    'set global group_replication_bootstrap_group = on',
    'start group_replication',
    'set global group_replication_bootstrap_group = off',
  )
}

/** The views that the three servers are in. */
async function viewsShown(): Promise<ReadonlySet<string>> {
  const cluster = shop.current
  const statement =
    'select view_id from performance_schema.replication_group_member_stats where member_id = @@server_uuid'
  // Whoever leaves a group ends all sessions.
  return new Set(await Promise.all(all.map((name) => cluster.value(name, statement).catch(() => `of ${name}`))))
}

it('A group that another hand forms of one secondary alone is ended, and its member is a copy of another one before it joins again: its writes had the names of others', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const [fork = ''] = await cluster.replicas()
  await cluster.sql(primary!, 'create table app.kept (id int auto_increment primary key, at varchar(9))', as)
  await cluster.until(
    'the table is there',
    async () => (await cluster.value(fork, 'select count(*) from app.kept').catch(() => '')) === '0',
  )
  await forks(fork)
  for (const name of [primary!, fork])
    await byHand(
      cluster,
      name,
      "insert into app.kept (at) values ('same')",
      `insert into app.kept (at) values ('${name}')`,
    )
  const executed = await Promise.all(
    [primary!, fork].map((name) => cluster.value(name, 'select @@global.gtid_executed')),
  )
  expect(executed[0]).toBe(executed[1])
  await cluster.fault(fork, 'thaw-agent')
  await cluster.until('everybody is in one group again', async () => (await viewsShown()).size === 1, wholeMs)
  expect(await cluster.whole(3, wholeMs)).toMatchObject({ epoch, primary })
  const kept = (name: string) => cluster.value(name, 'select group_concat(at order by id) from app.kept')
  expect(await kept(fork)).toBe(await kept(primary!))
}, 400_000)

it('Where the primary dies beside such a fork, a member leads that holds all that was acknowledged', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const [fork = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await forks(fork)
  await writer.next()
  await cluster.fault(primary!, 'kill')
  await cluster.fault(fork, 'thaw-agent')
  await cluster.waitFor(
    `only ${primary} is waited for`,
    ({ blocked, sentence }) => blocked && sentence.includes(`The last writes may be on ${primary} alone`),
    60_000,
  )
  await cluster.fault(primary!, 'start')
  const after = await cluster.whole(3, wholeMs)
  expect(after).toMatchObject({ epoch: epoch + 1 })
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 240_000)

it('Where a member recovers, and all that are online leave in order, the group is formed anew of those that hold more', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const [joiner = '', other = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await cluster.fault(joiner, 'freeze-agent')
  await byHand(cluster, joiner, 'stop group_replication')
  await writer.next()
  // It becomes a member, and cannot apply what it lacks.
  const locked = await cluster.session(joiner)
  await locked.query('lock tables app.writes read')
  await byHand(cluster, joiner, 'start group_replication')
  const state = 'select member_state from performance_schema.replication_group_members where member_id = @@server_uuid'
  expect(await cluster.value(joiner, state)).toBe('RECOVERING')
  for (const name of [other, primary!]) await cluster.fault(name, 'freeze-agent')
  for (const name of [other, primary!]) await byHand(cluster, name, 'stop group_replication')
  expect(await cluster.value(joiner, state)).toBe('RECOVERING')
  for (const name of all) await cluster.fault(name, 'thaw-agent')
  await cluster.until('another epoch', async () => (await cluster.view()).epoch > epoch, wholeMs)
  locked.destroy()
  await cluster.whole(3, wholeMs)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 240_000)
