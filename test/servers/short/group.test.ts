import { describe, expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { runEpisode } from '#test/support/episode.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { restarts } from './restarts.ts'

const shop = withCluster({ spec: { mode: 'group', reseed: 'manual' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

/** The view as one member shows it: `shop-0 ONLINE PRIMARY`, in order. */
async function membersSeenBy(instance: string): Promise<readonly string[]> {
  const { instances } = await shop.current.status()
  const rows = await shop.current.sql(
    instance,
    'select member_host as host, member_state as state, member_role as role from performance_schema.replication_group_members',
  )
  return rows
    .map(({ host, state, role }) => {
      const name = instances.find((one) => one.host === host)?.name ?? String(host)
      return `${name} ${String(state)} ${String(role)}`.trim()
    })
    .toSorted()
}

/** What every member of a whole group shows that this instance leads. */
function ledBy(primary: string): readonly string[] {
  return all.map((name) => `${name} ONLINE ${name === primary ? 'PRIMARY' : 'SECONDARY'}`)
}

it('A new cluster is one group: ordinal 0 leads it, and every instance sees the same', async () => {
  const cluster = shop.current
  expect(await cluster.whole()).toMatchObject({ primary: 'shop-0', epoch: 1, writable: true })
  for (const name of all) expect(await membersSeenBy(name)).toEqual(ledBy('shop-0'))
})

it('Each member that is new sends its group messages at once, by which XCom learns how long an agreement takes', async () => {
  const cluster = shop.current
  const messages = `select variable_value as sent from performance_schema.global_status
    where variable_name = 'Gr_transactions_consistency_before_begin_count'`
  const sentBy = async (name: string) => Number((await cluster.sql(name, messages))[0]?.['sent'])
  for (const name of all) await cluster.until(`messages of ${name}`, async () => (await sentBy(name)) >= 20)
})

it('A client writes at the primary and nowhere else, and reads what it wrote everywhere', async () => {
  const cluster = shop.current
  const as = { user: 'client' } as const
  await cluster.sql('shop-0', 'create table app.orders (id int primary key)', as)
  await cluster.sql('shop-0', 'insert into app.orders values (1)', as)
  for (const secondary of ['shop-1', 'shop-2']) {
    await expect(cluster.sql(secondary, 'insert into app.orders values (2)', as)).rejects.toMatchObject({ errno: 1290 })
    await cluster.until(
      `the row at ${secondary}`,
      async () => (await cluster.sql(secondary, 'select id from app.orders', as).catch(() => [])).length === 1,
    )
  }
})

it('A primary whose mysqld is killed is replaced by the group, the record follows, and it comes back as a secondary', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  const { from, to, outageMs } = await runEpisode(cluster, writer, 'kill')
  expect(to).not.toBe(from)
  expectBelow(20_000, outageMs)
  expect(await cluster.view()).toMatchObject({ primary: to, epoch: epoch + 1 })
  expect((await cluster.status()).primary).toMatchObject({ instance: to, epoch: epoch + 1 })
  for (const name of all) expect(await membersSeenBy(name)).toEqual(ledBy(to))
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A member that applies one transaction for long shows for how long, in seconds', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const secondary = all.find((name) => name !== primary) ?? ''
  const lag = async () => (await cluster.view()).instances.find(({ name }) => name === secondary)?.lagSeconds ?? null
  const locking = await cluster.session(secondary)
  await locking.query('flush tables with read lock')
  await cluster.sql(primary ?? '', 'create table app.late (id int primary key)', { user: 'client' })
  await cluster.until('the lag is told', async () => ((await lag()) ?? 0) >= 2)
  await locking.query('unlock tables')
  await cluster.until('the lag is over', async () => (await lag()) === null)
  await cluster.whole()
})

it('A primary whose agent alone is dead goes on, and nobody says that the cluster takes no writes', async () => {
  const cluster = shop.current
  const { primary, epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.fault(primary ?? '', 'kill-agent')
  const view = await cluster.waitFor('the manager says so', ({ writable }) => writable === null)
  expect(view).toMatchObject({ primary, epoch, group: { online: 3, primary }, writableUnknown: { likely: true } })
  expect(view.writableUnknown?.sentence).toContain('the group has its server as primary')
  await expect(cluster.switchover()).rejects.toThrow(/the agent of shop-\d is unreachable, and only that agent/)
  await cluster.fault(primary ?? '', 'start')
  expect(await cluster.whole()).toMatchObject({ primary, epoch, writable: true })
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A switchover has the group elect the instance that is named, and loses nothing', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const { from, to, outageMs, recovery } = await runEpisode(cluster, writer, 'switchover')
  expect(to).not.toBe(from)
  expectBelow(2_000, outageMs)
  expect(recovery).toMatchObject({ kind: 'switchover', outcome: 'succeeded' })
  const named = all.find((name) => name !== from && name !== to)!
  expect(await cluster.switchover({ to: named })).toMatchObject({ done: true })
  await cluster.whole()
  for (const name of all) expect(await membersSeenBy(name)).toEqual(ledBy(named))
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A switchover to the primary, to nobody there is, or to one that is away is refused with the reason', async () => {
  const cluster = shop.current
  const primary = await cluster.primary()
  const [away = ''] = await cluster.replicas()
  await expect(cluster.switchover({ to: primary })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining(`${primary} is the primary already`) as string,
  })
  await expect(cluster.switchover({ to: 'shop-7' })).rejects.toMatchObject({
    message: expect.stringContaining('there is no instance shop-7') as string,
  })
  await cluster.fault(away, 'kill')
  await cluster.until(`${away} has left the view`, async () =>
    (await membersSeenBy(primary)).every((line) => !line.startsWith(away)),
  )
  await expect(cluster.switchover({ to: away })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining(away) as string,
  })
  await cluster.fault(away, 'start')
  await cluster.whole()
})

describe('A restart', () => restarts(shop))

it('After the loss of every server and agent the group is formed anew once all have answered, in whatever order they start', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole()
  const [first = '', second = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await Promise.all(all.map((name) => cluster.fault(name, 'kill')))
  await cluster.fault(second, 'start')
  await cluster.fault(first, 'start')
  const waiting = await cluster.waitFor(
    `only ${primary} is waited for`,
    ({ blocked, sentence }) => blocked && sentence.includes(`The last writes may be on ${primary} alone`),
  )
  expect(waiting).toMatchObject({ writable: null, epoch })
  for (const name of [first, second])
    await expect(cluster.sql(name, 'insert into app.orders values (3)', { user: 'client' })).rejects.toThrow()
  await cluster.fault(primary!, 'start')
  const after = await cluster.whole()
  expect(after.epoch).toBe(epoch + 1)
  const [recovery] = await cluster.recoveries()
  expect(recovery).toMatchObject({ kind: 'failover', outcome: 'succeeded', fromEpoch: epoch, toEpoch: epoch + 1 })
  await writer.next()
  for (const name of all) expect(await membersSeenBy(name)).toEqual(ledBy(after.primary!))
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A member that took a write of its own outside of the group never joins again, is named, and no switchover goes to it', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [errant = ''] = await cluster.replicas()
  await cluster.fault(errant, 'freeze-agent')
  await byHand(
    cluster,
    errant,
    'stop group_replication',
    'set global super_read_only = off',
    'set global read_only = off',
    'insert into app.orders values (99)',
  )
  await cluster.fault(errant, 'thaw-agent')
  await cluster.waitFor(`${errant} is named`, ({ sentence, instances }) =>
    `${sentence} ${troublesOf(instances)}`.includes(`${errant} has 1 errant transaction`),
  )
  expect(await membersSeenBy(primary!)).toEqual(ledBy(primary!).filter((line) => !line.startsWith(errant)))
  await expect(cluster.switchover({ to: errant })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining(errant) as string,
  })
  expect(await cluster.value(primary!, 'select count(*) from app.orders where id = 99')).toBe('0')
})
