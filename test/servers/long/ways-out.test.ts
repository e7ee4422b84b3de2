import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const replicas = ['shop-1', 'shop-2']
const goesOn = 'use: regent failover --accept-loss (shop-0 goes on as primary'

it('A primary that lost all its replicas: every refusal and explanation names the same command, which lets it go on alone until they are back', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await Promise.all(replicas.map((name) => cluster.fault(name, 'kill')))
  await cluster.until('a command is named', async () => (await cluster.explain()).wayOut?.startsWith(goesOn))
  expect((await cluster.topology()).wayOut).toContain(goesOn)
  expect((await cluster.regent('explain', 'shop')).stdout).toContain(goesOn)
  const named = {
    code: 'REGENT_REFUSED',
    message: expect.stringMatching(/(use|go on without): regent failover --accept-loss/) as string,
  }
  for (const dryRun of [true, false]) {
    await expect(cluster.switchover({ dryRun })).rejects.toMatchObject(named)
    await expect(cluster.operate('failover', { dryRun })).rejects.toMatchObject(named)
    await expect(cluster.operate('failover', { dryRun, acceptLoss: true, to: 'shop-1' })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
    })
  }
  expect(await cluster.operate('failover', { acceptLoss: true, dryRun: true })).toMatchObject({
    dryRun: true,
    sentence: expect.stringContaining('shop-0 goes on as primary') as string,
  })
  const atMs = monotonicMs()
  expect(writer.begunSince(atMs)).toEqual([])
  expect(await cluster.operate('failover', { acceptLoss: true })).toMatchObject({ done: true })
  await writer.next(atMs)
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', writable: true, epoch: 1, acks: 0 })
  await Promise.all(replicas.map((name) => cluster.fault(name, 'start')))
  await cluster.whole()
  await cluster.waitFor('writes are acknowledged again', ({ acks, writable }) => acks === 1 && writable)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 300_000)
