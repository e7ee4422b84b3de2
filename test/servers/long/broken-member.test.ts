import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { archivesOf, logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 150_000

/** Statements of somebody who gets at a server while its agent stands still. */
async function behindItsAgent(instance: string, ...statements: readonly string[]): Promise<void> {
  const cluster = shop.current
  await cluster.fault(instance, 'freeze-agent')
  await byHand(cluster, instance, 'set global super_read_only = off', 'set global read_only = off', ...statements)
  await cluster.fault(instance, 'thaw-agent')
}

async function rowsAt(instance: string): Promise<readonly number[]> {
  return (await shop.current.sql(instance, 'select id from app.rows order by id')).map(({ id }) => Number(id))
}

async function logLength(instance: string): Promise<number> {
  return (await logOf(shop.current, instance)).length
}

/** The decision to seed may stand for a few milliseconds only: what came of it is in the agent's log. */
async function seededSince(instance: string, length: number): Promise<void> {
  const cluster = shop.current
  await cluster.until(
    `${instance} is seeded again`,
    async () => (await logOf(cluster, instance)).slice(length).includes('seeded from'),
    90_000,
  )
}

it('A member that cannot apply what the group has agreed on leaves the record, is seeded again and comes back', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const broken = (await cluster.replicas())[0]!
  await cluster.sql(primary!, 'create table app.rows (id int primary key)', { user: 'client' })
  const hasTable = async (instance: string) =>
    (await cluster.sql(instance, "show tables in app like 'rows'")).length > 0
  await cluster.until('all have the table', async () => (await Promise.all(all.map(hasTable))).every(Boolean))
  const before = await logLength(broken)
  await behindItsAgent(broken, 'set sql_log_bin = 0', 'insert into app.rows values (5)')
  await cluster.sql(primary!, 'insert into app.rows values (5)', { user: 'client' })
  await seededSince(broken, before)
  await cluster.whole(3, wholeMs)
  await cluster.sql(primary!, 'insert into app.rows values (6)', { user: 'client' })
  await cluster.until(`${broken} has it`, async () => (await rowsAt(broken)).includes(6))
  expect(await rowsAt(broken)).toEqual([5, 6])
}, 400_000)

it('A member with transactions of its own is archived and seeded again', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole(3, wholeMs)
  const errant = (await cluster.replicas())[0]!
  const before = await logLength(errant)
  await behindItsAgent(
    errant,
    'stop group_replication',
    'set global super_read_only = off',
    'insert into app.rows values (99)',
  )
  await seededSince(errant, before)
  await cluster.whole(3, wholeMs)
  expect(await rowsAt(errant)).toEqual(await rowsAt(primary!))
  expect(await archivesOf(cluster, errant)).not.toEqual([])
}, 400_000)
