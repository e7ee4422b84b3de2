import { expect, it } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const pair = withCluster({ name: 'pair', instances: 2, spec: { maxLagSeconds: 2 } })
const solo = withCluster({ name: 'solo', instances: 1 })

it('A cluster of one takes writes, says that it is not protected, and comes back after a crash', async () => {
  const cluster = solo.current
  const view = await cluster.whole(1)
  expect(view).toMatchObject({ primary: 'solo-0', acks: 0, writable: true })
  expect(view.sentence).toContain('not protected')
  const writer = await Writer.start(cluster)
  const { pid } = await cluster.instance('solo-0')
  await cluster.fault('solo-0', 'kill-mysqld')
  await cluster.otherMysqld('solo-0', pid)
  await writer.next()
  expect(await cluster.view()).toMatchObject({ primary: 'solo-0' })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], instances: 1 })
})

it('A cluster of two says what the loss of its only replica would mean, and fails over to that', async () => {
  const cluster = pair.current
  const view = await cluster.whole(2)
  expect(view.sentence).toContain('the loss of pair-1 would make writes wait')
  const writer = await Writer.start(cluster)
  await cluster.fault('pair-0', 'kill-mysqld')
  await cluster.waitFor('pair-1 leads', ({ primary, writable }) => primary === 'pair-1' && writable)
  await cluster.whole(2)
  await writer.next()
  expect(await cluster.primary()).toBe('pair-1')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})

it('A cluster of two without its replica keeps its primary, lets writes wait, and refuses a switchover with the reason', async () => {
  const cluster = pair.current
  await cluster.fault('pair-0', 'kill')
  await cluster.waitFor(
    'it says so',
    ({ sentence, instances }) =>
      sentence.includes('writes wait') && instances.some((row) => row.name === 'pair-0' && !row.reachable),
    10_000,
  )
  await expect(cluster.switchover()).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('no replica can take over') as string,
  })
  await cluster.fault('pair-0', 'start')
  await cluster.whole(2)
})

it('A cluster of two whose replica lags says so, takes writes, refuses a switchover with the reason, and does it once that has caught up', async () => {
  const cluster = pair.current
  const { primary } = await cluster.whole(2)
  const [name = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const lagging = async () => (await cluster.explain()).analyses.find(({ code }) => code === 'ReplicaLagging')
  const holder = await cluster.session(name)
  // Its applier waits for this lock; its receiver goes on, and acknowledges.
  await holder.query('lock tables app.writes read')
  expect(await cluster.until('it says so', lagging)).toMatchObject({
    instance: name,
    sentence: expect.stringMatching(
      new RegExp(`^replica ${name} is \\d+ s behind with \\d+ transactions to apply; 2 s are allowed$`),
    ) as string,
  })
  const row = (await cluster.topology()).instances.find((one) => one.name === name)
  expect(row).toMatchObject({ inSyncSet: true, acknowledging: true })
  expect(row?.lagSeconds).toBeGreaterThan(2)
  expect(row?.backlog).toBeGreaterThan(0)
  await writer.next()
  const why = new RegExp(`no replica can take over: ${name} lags [\\d.]+ s \\(at most 2 s\\)`)
  await expect(cluster.switchover()).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringMatching(why) as string,
  })
  expect(await cluster.view()).toMatchObject({ primary, writable: true })
  await holder.query('unlock tables')
  holder.destroy()
  await cluster.until('it has caught up', async () => (await lagging()) === undefined)
  await cluster.switchover()
  expect(await cluster.whole(2)).toMatchObject({ primary: name })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
})
