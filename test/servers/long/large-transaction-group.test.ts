import { expect, it } from 'vitest'
import { cannotBeUndone, changeManyRows, dryRun, prepareLarge, isUndoing } from '#test/support/large-transaction.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
/** Looks at a thousand million rows, of which none is to be inserted. */
const findsNothing = `insert into app.large (v) select 'x' from app.digits a, app.digits b, app.digits c, app.digits d, app.digits e, app.digits f,
  app.digits g, app.digits h, app.digits i where a.n + b.n + c.n + d.n + e.n + f.n + g.n + h.n + i.n > 100`
/** For what takes so long on a machine that has other things to do, and what is estimated for that. */
const patientMs = 600_000

it('A transaction with many changed rows in a group: a switchover that has no time to undo them is refused before anything is ended, and says how many rows, and which command works; with that time it is done, and others write while the rows are undone', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const open = await changeManyRows(cluster, from)
  await cluster.until('its rows are seen', async () => /has changed/.test((await dryRun(cluster, 1_000)).message))
  expect((await dryRun(cluster, 1_000)).message).toMatch(cannotBeUndone)
  await expect(cluster.switchover({ timeoutMs: 1_000 })).rejects.toThrow(cannotBeUndone)
  expect(await open.query('select count(*) >= 10000 as kept from app.large')).toMatchObject([[{ kept: 1 }], {}])

  const planned = await cluster.switchover({ timeoutMs: patientMs, dryRun: true })
  expect(planned.plan?.join('\n')).toMatch(/session \d+ of client is ended, and \d+ rows are undone/)
  const writer = await Writer.start(cluster)
  const switched = cluster.operate('switchover', { timeoutMs: patientMs }, patientMs)
  await cluster.until('it is undone', () => isUndoing(cluster, from))
  await writer.next(monotonicMs())
  expect(await cluster.primary()).toBe(from)
  expect(await switched).toMatchObject({ done: true })
  await expect(open.query('select 1')).rejects.toThrow()
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect(await cluster.value(await cluster.primary(), 'select count(*) from app.large')).toBe('0')
  expect(await writer.check()).toMatchObject(nothingLost)
}, 400_000)

it('A statement that runs on and has changed nothing yet is ended before the group is asked to elect: the group would wait for it with everybody held up, until its primary is ended', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const { pid } = await cluster.instance(from)
  await prepareLarge(cluster, from)
  const writer = await Writer.start(cluster)
  const running = await cluster.session(from, 'client')
  const ended = running.query(findsNothing).then(
    () => 'done',
    () => 'ended',
  )
  const runs = `select count(*) from performance_schema.threads where processlist_time >= 1 and processlist_info like 'insert into app.large%'`
  await cluster.until('the statement runs', async () => (await cluster.value(from, runs)) === '1')
  expect(await cluster.operate('switchover', { timeoutMs: patientMs }, patientMs)).toMatchObject({ done: true })
  expect(await ended).toBe('ended')
  await cluster.whole()
  expect(await cluster.primary()).not.toBe(from)
  expect((await cluster.instance(from)).pid).toBe(pid)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
}, 400_000)
