import { afterEach, describe, expect, it } from 'vitest'
import { logOf } from '../../support/instance-files.ts'
import { monotonicMs } from '../../support/monotonic.ts'
import { withCluster } from '../../support/with-cluster.ts'
import { stopWriters, Writer } from '../../support/writer.ts'

/** An empty instance that lacks more than that is a copy of another one. */
const cloneAboveTransactions = 8_000
const shop = withCluster({ spec: { mode: 'group', cloneAboveTransactions } })
const wholeMs = 180_000
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

const isSeeded = async (name: string, since: number) =>
  (await logOf(shop.current, name)).slice(since).includes('seeded from')

describe('A fourth member that joins while clients write', () => {
  it.each([['gets from another member what it lacks', false]])(
    '%s; how long writes stand still is said',
    async (how, isCopy) => {
      const cluster = shop.current
      await cluster.whole(3, wholeMs)
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
      expect(pauseMs).toBeLessThan(10_000)
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
    360_000,
  )
})
