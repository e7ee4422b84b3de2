import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { replaceAccounts } from '#test/support/replaced-accounts.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

const markers = 'select count(*) from regent.marker'
const agents = "select count(*) from mysql.user where user = 'regent'"

/** Waits until a query gives `wanted` at every instance. */
async function everywhere(query: string, wanted: string): Promise<void> {
  const cluster = shop.current
  for (const name of all)
    await cluster.until(
      `${query} at ${name} is ${wanted}`,
      async () => (await cluster.value(name, query).catch(() => undefined)) === wanted,
    )
}

async function failsOver(writer: Writer): Promise<void> {
  const cluster = shop.current
  const primary = await cluster.primary()
  await cluster.fault(primary, 'kill-mysqld')
  await cluster.waitFor('another one leads', (view) => view.writable && view.primary !== primary)
  await writer.next()
}

it('The schema of Regent that somebody dropped is there again within seconds, everywhere, which is said', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await byHand(cluster, primary!, 'drop database regent')
  await everywhere(markers, '32')
  await everywhere('select count(*) from regent.probe', '1')
  await cluster.until('that is said', async () =>
    /table regent\.marker.* as Regent needs/.test(await logOf(cluster, primary!)),
  )
  await failsOver(writer)
  await cluster.whole()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A primary that dies right after somebody dropped the schema of Regent is failed over as any other', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await byHand(cluster, primary!, 'drop database regent')
  await failsOver(writer)
  await cluster.whole()
  await everywhere(markers, '32')
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('Accounts of agents and replicas that a dump from elsewhere has replaced are there again within seconds, and servers that end are taken up again', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await replaceAccounts(cluster, primary!)
  await everywhere(agents, '2')
  await cluster.until('that is said', async () => /account regent@localhost/.test(await logOf(cluster, primary!)))
  const [replica] = await cluster.replicas()
  const { pid } = await cluster.instance(replica!)
  await cluster.fault(replica!, 'kill-mysqld')
  await cluster.otherMysqld(replica!, pid)
  await cluster.whole()
  await failsOver(writer)
  await cluster.whole()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('Servers that end right after their accounts were replaced, where nobody can log in any more, are started with their accounts', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [replica] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  for (const name of [primary!, replica!]) await cluster.fault(name, 'freeze-agent')
  await replaceAccounts(cluster, primary!)
  await cluster.until(
    `${replica} has applied that`,
    async () => (await cluster.value(replica!, agents).catch(() => undefined)) === '0',
  )
  for (const name of [replica!, primary!]) await cluster.fault(name, 'kill-mysqld')
  for (const name of [replica!, primary!]) await cluster.fault(name, 'thaw-agent')
  await cluster.whole()
  await everywhere(agents, '2')
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})
