import { expect, it } from 'vitest'
import { withCluster } from '../support/with-cluster.ts'
import { Writer } from '../support/writer.ts'

const pair = withCluster({ name: 'pair', instances: 2 })
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
  await cluster.waitFor('it says so', ({ sentence, instances }) => sentence.includes('writes wait') && instances.some((row) => row.name === 'pair-0' && !row.reachable), 10_000)
  await expect(cluster.switchover()).rejects.toMatchObject({ code: 'REGENT_REFUSED', message: expect.stringContaining('no replica can take over') as string })
  await cluster.fault('pair-0', 'start')
  await cluster.whole(2)
})
