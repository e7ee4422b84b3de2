import { expect, it } from 'vitest'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

it('What is wrong with an instance in downtime is shown as expected, with until when, by whom and why', async () => {
  const cluster = shop.current
  await cluster.whole()
  const asked = await cluster.regent('downtime', 'shop-1', '--for', '1h', '--reason', 'new disk', '--owner', 'ann')
  expect(asked).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^shop-1 is in downtime until .* UTC by ann: new disk/) as string,
  })
  await cluster.fault('shop-1', 'kill')
  const { instances } = await cluster.waitFor('it is expected', (view) =>
    troublesOf(view.instances, 'shop-1').includes('(expected: downtime until'),
  )
  expect(instances.find(({ name }) => name === 'shop-1')?.downtime).toMatchObject({ reason: 'new disk', owner: 'ann' })
  const { analyses } = await cluster.explain()
  expect(analyses.filter(({ instance }) => instance === 'shop-1')).toMatchObject([{ severity: 'info', expected: true }])
  await cluster.fault('shop-1', 'start')
  await cluster.whole()
})

it('A failover chooses another instance that holds as much, although the one in downtime has the lower ordinal', async () => {
  const cluster = shop.current
  await cluster.fault('shop-0', 'kill-mysqld')
  await cluster.waitFor('another primary', ({ primary, writable }) => primary !== 'shop-0' && writable)
  expect(await cluster.primary()).toBe('shop-2')
  await cluster.whole()
})

it('A downtime ends by itself, and by hand', async () => {
  const cluster = shop.current
  expect(await cluster.regent('downtime', 'shop-1', '--end')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('shop-1 is no longer in downtime') as string,
  })
  expect((await cluster.view()).instances.filter(({ downtime }) => downtime !== undefined)).toEqual([])
  expect(await cluster.regent('downtime', 'shop-0', '--for', '2s', '--reason', 'a moment')).toMatchObject({ code: 0 })
  expect(
    (await cluster.view()).instances.filter(({ downtime }) => downtime !== undefined).map(({ name }) => name),
  ).toEqual(['shop-0'])
  await cluster.waitFor('it has ended', ({ instances }) => instances.every(({ downtime }) => downtime === undefined))
})

it('A downtime of an instance that there is not, or without a reason, is refused with a sentence', async () => {
  const cluster = shop.current
  expect(await cluster.regent('downtime', 'shop-9', '--for', '2h', '--reason', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no instance shop-9') as string,
  })
  expect(await cluster.regent('downtime', 'shop-1', '--for', '2h')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs --for and --reason') as string,
  })
})
