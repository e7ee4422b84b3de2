import { expect, it } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** As delivered: three automatic failovers in five minutes. */
const shop = withCluster({ spec: { failover: {} } })

async function killPrimary(): Promise<string> {
  const from = await shop.current.primary()
  await shop.current.fault(from, 'kill-mysqld')
  return from
}

it('Two primaries that die within seconds of each other are both replaced, and it is said how many automatic failovers are left', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  for (const left of [2, 1]) {
    const from = await killPrimary()
    await cluster.waitFor('another primary', ({ primary, writable }) => primary !== from && writable, 10_000)
    const { sentence } = await cluster.whole()
    expect(sentence).toMatch(new RegExp(`; ${left} of 3 automatic failovers left until \\d\\d:\\d\\d:\\d\\d UTC$`))
  }
  await writer.next()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A fourth one within five minutes is not automatic: it is said when the next may be, a primary that died is started where it was, and regent failover goes through', async () => {
  const cluster = shop.current
  const third = await killPrimary()
  await cluster.waitFor('another primary', ({ primary, writable }) => primary !== third && writable, 10_000)
  const { epoch } = await cluster.whole()
  const fourth = await killPrimary()
  const spent =
    /all 3 automatic failovers are used up until \d\d:\d\d:\d\d UTC \(one comes back every 300 s\); by hand: regent failover/
  await cluster.waitFor('it says until when', ({ sentence }) => spent.test(sentence), 10_000)
  expect(await cluster.whole()).toMatchObject({ primary: fourth, epoch })

  await cluster.fault(fourth, 'freeze-mysqld')
  await cluster.waitFor('it says until when', ({ sentence, blocked }) => blocked && spent.test(sentence), 10_000)
  const ran = await cluster.regent('failover', 'shop')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(await cluster.whole()).toMatchObject({
    epoch: epoch + 1,
    sentence: expect.stringContaining('; 0 of 3 automatic failovers left until ') as string,
  })
  expect(await cluster.primary()).not.toBe(fourth)
})
