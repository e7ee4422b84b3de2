import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

/** An empty instance that lacks more than that is a copy of another one. */
const cloneAboveTransactions = 20_000
const shop = withCluster({ spec: { mode: 'group', cloneAboveTransactions } })
/** Far longer than a member takes to apply what four writers write meanwhile. */
const wholeMs = 600_000
const nothingLost = { lost: [], duplicated: [], differing: [] }

afterEach(stopWriters)

/** One writer whose pauses are measured, among others. */
async function load(): Promise<{ readonly measured: Writer; readonly all: readonly Writer[] }> {
  const cluster = shop.current
  const measured = await Writer.start(cluster)
  const busy = await Promise.all(
    [1, 2, 3].map((number) => Writer.start(cluster, { table: `busy${number}`, everyMs: 10, bodyBytes: 200 })),
  )
  return { measured, all: [measured, ...busy] }
}

/** So many bytes more than there were, in transactions of 100 kB. */
async function fill(mib: number): Promise<void> {
  const cluster = shop.current
  const primary = await cluster.primary()
  await cluster.sql(
    primary,
    'create table if not exists app.filled (id int auto_increment primary key, body mediumblob)',
  )
  for (let at = 0; at < mib * 10; at++)
    await cluster.sql(primary, 'insert into app.filled (body) values (repeat(uuid(), 2800))')
}

/** So many transactions more than there were. */
async function change(transactions: number): Promise<void> {
  const cluster = shop.current
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table if not exists app.counted (id int auto_increment primary key, at int)')
  await cluster.sql(primary, 'drop procedure if exists app.count_on')
  await cluster.sql(
    primary,
    'create procedure app.count_on(times int) while times > 0 do insert into app.counted (at) values (times); set times = times - 1; end while',
  )
  const sessions = await Promise.all(Array.from({ length: 16 }, () => cluster.session(primary)))
  await Promise.all(sessions.map((session) => session.query(`call app.count_on(${Math.ceil(transactions / 16)})`)))
  for (const session of sessions) session.destroy()
}

/** By name: `BEFORE now()` keeps a file that was written in this very second. */
async function purgeBinlogs(name: string): Promise<void> {
  const cluster = shop.current
  await cluster.sql(name, 'flush binary logs')
  const current = await cluster.value(name, 'show binary log status')
  await cluster.sql(name, `purge binary logs to '${current}'`)
}

const isSeeded = async (name: string, since: number) =>
  (await logOf(shop.current, name)).slice(since).includes('seeded from')

describe('A fourth member that joins while clients write', () => {
  it.each([
    ['and is empty gets from another member what it lacks', false],
    ['and lacks more than an empty one may is a copy', true],
  ])(
    '%s; how long writes stand still is said',
    async (how, isCopy) => {
      const cluster = shop.current
      await cluster.whole(3, wholeMs)
      // The volume of one that was scaled away stays.
      await rm(join(cluster.layout.instances, 'shop-3'), { recursive: true, force: true })
      if (isCopy) await change(cloneAboveTransactions)
      await fill(20)
      const { measured, all } = await load()
      await measured.next()
      const atMs = monotonicMs()
      const before = (await logOf(cluster, 'shop-3').catch(() => '')).length
      await cluster.scale(4)
      await cluster.whole(4, wholeMs)
      const { pauseMs } = measured.longestPause(atMs)
      const writes = all.reduce((sum, writer) => sum + writer.report.acknowledged.length, 0)
      console.log(
        `a member joins, ${isCopy ? 'CLONE' : 'distributed recovery'}: whole after ${Math.round(monotonicMs() - atMs)} ms, longest pause of writes ${Math.round(pauseMs)} ms, ${writes} writes`,
      )
      expect(await isSeeded('shop-3', before)).toBe(isCopy)
      expectBelow(10_000, pauseMs)
      for (const writer of all) await writer.stop()
      for (const writer of all) expect(await writer.check(), how).toMatchObject({ ...nothingLost, instances: 4 })
      const leftMs = monotonicMs()
      const left = await load()
      await cluster.scale(3)
      await cluster.whole(3, wholeMs)
      console.log(
        `a member leaves: longest pause of writes ${Math.round(left.measured.longestPause(leftMs).pauseMs)} ms`,
      )
      for (const writer of left.all) expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
    },
    1_800_000,
  )
})

describe('A member that was away while 8,000 transactions and 80 MiB were written', () => {
  it.each([
    ['gets them from the binlogs of another one, and is no copy', false],
    ['is a copy where the others have purged their binlogs', true],
  ])(
    '%s',
    async (how, purged) => {
      const cluster = shop.current
      await cluster.whole(3, wholeMs)
      const [away = ''] = await cluster.replicas()
      const before = (await logOf(cluster, away)).length
      await cluster.fault(away, 'kill')
      await cluster.waitFor(`${away} is away`, ({ instances }) =>
        instances.some(({ name, reachable }) => name === away && !reachable),
      )
      await fill(80)
      await change(8_000)
      const others = ['shop-0', 'shop-1', 'shop-2'].filter((name) => name !== away)
      if (purged) for (const name of others) await purgeBinlogs(name)
      const { measured, all } = await load()
      await measured.next()
      const atMs = await cluster.fault(away, 'start')
      await cluster.whole(3, wholeMs)
      console.log(
        `a member that was away, ${how}: whole after ${Math.round(monotonicMs() - atMs)} ms, longest pause of writes ${Math.round(measured.longestPause(atMs).pauseMs)} ms`,
      )
      expect(await isSeeded(away, before)).toBe(purged)
      for (const writer of all) await writer.stop()
      for (const writer of all) expect(await writer.check(), how).toMatchObject({ ...nothingLost, instances: 3 })
      const counts = await Promise.all(
        ['shop-0', 'shop-1', 'shop-2'].map((name) => cluster.value(name, 'select count(*) from app.counted')),
      )
      expect(new Set(counts).size).toBe(1)
    },
    420_000,
  )
})
