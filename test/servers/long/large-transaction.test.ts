import { expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import {
  cannotBeUndone,
  changeManyRows,
  changingMs,
  dryRun,
  prepareLarge,
  isUndoing,
} from '#test/support/large-transaction.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

/** For what takes so long on a machine that has other things to do, and what is estimated for that. */
const patientMs = 600_000

it('A transaction with many changed rows: a switchover that has no time to undo them is refused before anything is ended, and says how many rows, and which command works; with that time it is done, and others write while the rows are undone', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const open = await changeManyRows(cluster, from)
  await cluster.until('its rows are seen', async () => /has changed/.test((await dryRun(cluster, 1_000)).message))
  expect((await dryRun(cluster, 1_000)).message).toMatch(cannotBeUndone)
  await expect(cluster.switchover({ timeoutMs: 1_000 })).rejects.toThrow(cannotBeUndone)
  expect(await open.query('select count(*) >= 10000 as kept from app.large')).toMatchObject([[{ kept: 1 }], {}])
  expect(await doubts(cluster)).toEqual([])

  const planned = await cluster.switchover({ timeoutMs: patientMs, dryRun: true })
  expect(planned.plan?.join('\n')).toMatch(/session \d+ of client is ended, and \d+ rows are undone/)
  const writer = await Writer.start(cluster)
  // Whoever looks is logged in before: on a busy machine a login takes as long as what is looked for.
  expect(await isUndoing(cluster, from)).toBe(false)
  const switched = cluster.operate('switchover', { timeoutMs: patientMs }, patientMs)
  await cluster.until('it is undone', () => isUndoing(cluster, from))
  await writer.next(monotonicMs())
  expect(await cluster.primary()).toBe(from)
  expect(await switched).toMatchObject({ done: true })
  await expect(open.query('select 1')).rejects.toThrow()
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect(await doubts(cluster)).toEqual([])
  expect(await cluster.value(await cluster.primary(), 'select count(*) from app.large')).toBe('0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A statement that has changed many rows and runs on is ended and undone before writes stop, and the switchover is done', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  await prepareLarge(cluster, from)
  const writer = await Writer.start(cluster)
  const running = await cluster.session(from, 'client')
  const ended = running
    .query(
      "insert into app.large (v) select 'x' from app.digits a, app.digits b, app.digits c, app.digits d, app.digits e, app.digits f, app.digits g, app.digits h",
    )
    .then(
      () => 'done',
      () => 'ended',
    )
  await new Promise((resolve) => setTimeout(resolve, changingMs))
  const switched = cluster.operate('switchover', { timeoutMs: patientMs }, patientMs)
  expect(await ended).toBe('ended')
  expect(await switched).toMatchObject({ done: true })
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

async function doubts(cluster: TestCluster): Promise<readonly string[]> {
  const { analyses } = await cluster.explain()
  return analyses.map(({ sentence }) => sentence).filter((sentence) => sentence.includes('another hand'))
}
