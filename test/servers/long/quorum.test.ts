import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { archivesOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
const wholeMs = 120_000

const othersThan = (name: string) => all.filter((one) => one !== name)
const insertion = (id: number) => `insert into app.rows values (${id})`
const rowsAt = async (instance: string) =>
  (await shop.current.sql(instance, 'select id from app.rows order by id')).map(({ id }) => Number(id))

/** These two, in the order of the record, which changes with each change of primary. */
const bothOf = ([one, other]: readonly string[]) => `(?:${one} and ${other}|${other} and ${one})`

/** One that is left over of two, and the group is known to have no majority. */
async function aloneAs(survivor: string, fault: 'kill' | 'kill-mysqld'): Promise<void> {
  const cluster = shop.current
  await Promise.all(othersThan(survivor).map((one) => cluster.fault(one, fault)))
  await cluster.waitFor('writes are not taken', ({ writable }) => !writable)
}

it('A group that has lost two of three servers is formed anew by itself as soon as their agents have told what these hold', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  const atMs = monotonicMs()
  await aloneAs((await cluster.replicas())[0]!, 'kill-mysqld')
  const { ackedMs } = await writer.next(monotonicMs(), { deadlineMs: 60_000 })
  console.log(`two of three servers killed, their agents there: first write after ${Math.round(ackedMs - atMs)} ms`)
  expect((await cluster.whole(3, wholeMs)).epoch).toBe(epoch + 1)
  expect(await writer.check()).toMatchObject(nothingLost)
}, 300_000)

it('One that is left of three with nobody to tell what the others hold is closed: they are named, and once they are back all goes on', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  const silent = othersThan(primary!)
  await aloneAs(primary!, 'kill')
  const { sentence } = await cluster.waitFor(
    'the silent ones are named',
    (view) => view.blocked && view.sentence.includes('The last writes may be on '),
  )
  const named = new RegExp(
    `The last writes may be on ${bothOf(silent)} alone: bring them back, or give those up: regent failover --accept-loss`,
  )
  expect(sentence).toMatch(named)
  await expect(cluster.sql(primary!, 'select 1', { user: 'client' })).rejects.toThrow()
  await expect(cluster.operate('failover', {})).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringMatching(named) as string,
  })
  expect((await cluster.view()).epoch).toBe(epoch)
  await Promise.all(silent.map((name) => cluster.fault(name, 'start')))
  expect((await cluster.whole(3, wholeMs)).epoch).toBe(epoch + 1)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 300_000)

it('A person may give up what the silent ones hold: the one that is left leads, and they come back as its members', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  await cluster.sql(primary!, 'create table app.rows (id int primary key)', { user: 'client' })
  await cluster.sql(primary!, insertion(1), { user: 'client' })
  await cluster.until('all have the row', async () => (await Promise.all(all.map(rowsAt))).flat().length === 3)
  const survivor = othersThan(primary!)[0]!
  await aloneAs(survivor, 'kill')
  await cluster.waitFor('a person is asked', ({ sentence }) => sentence.includes('--accept-loss'))
  expect((await cluster.operate('failover', { acceptLoss: true, dryRun: true })).sentence).toMatch(
    new RegExp(`what only ${bothOf(othersThan(survivor))} may hold would be given up`),
  )
  expect(await cluster.operate('failover', { acceptLoss: true })).toMatchObject({ done: true })
  await cluster.waitFor(`${survivor} leads`, (view) => view.primary === survivor && view.writable)
  await cluster.sql(survivor, insertion(2), { user: 'client' })
  await Promise.all(othersThan(survivor).map((name) => cluster.fault(name, 'start')))
  const after = await cluster.whole(3, wholeMs)
  expect(after).toMatchObject({ primary: survivor })
  expect(after.epoch).toBeGreaterThan(epoch)
  for (const name of all) expect(await rowsAt(name)).toEqual([1, 2])
}, 300_000)

it('After an outage in which each member holds something alone, a person chooses whose counts: the rest is archived', async () => {
  const cluster = shop.current
  await cluster.whole(3, wholeMs)
  await Promise.all(all.map((name) => cluster.fault(name, 'freeze-agent')))
  const own: Readonly<Record<string, readonly number[]>> = { 'shop-0': [10], 'shop-1': [11, 12], 'shop-2': [] }
  for (const name of all) await byHand(cluster, name, 'stop group_replication')
  for (const [name, ids] of Object.entries(own))
    await byHand(cluster, name, 'set global super_read_only = off, global read_only = off', ...ids.map(insertion))
  await Promise.all(all.map((name) => cluster.fault(name, 'thaw-agent')))
  const asked = await cluster.waitFor(
    'a person is asked',
    ({ blocked, sentence }) => blocked && sentence.includes('no member holds everything'),
    60_000,
  )
  expect(asked.sentence).toMatch(/shop-0 alone has 1 transaction, lacks 2\b/)
  expect(asked.sentence).toMatch(/shop-1 alone has 2 transactions, lacks 1\b/)
  expect(asked.sentence).toMatch(/shop-2 alone has 0 transactions, lacks 3\b/)
  await expect(cluster.operate('failover', { acceptLoss: true })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('--accept-loss --to <instance>') as string,
  })
  const choice = { acceptLoss: true, to: 'shop-1' }
  expect((await cluster.operate('failover', { ...choice, dryRun: true })).sentence).toContain(
    '1 transaction of shop-0 would be given up',
  )
  expect(await cluster.operate('failover', choice)).toMatchObject({ done: true })
  expect(await cluster.whole(3, wholeMs)).toMatchObject({ primary: 'shop-1' })
  for (const name of all) expect(await rowsAt(name)).toEqual([1, 2, 11, 12])
  expect(await archivesOf(cluster, 'shop-0')).not.toEqual([])
}, 300_000)
