import { it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { replaceAccounts } from '#test/support/replaced-accounts.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 150_000

async function everywhere(query: string, wanted: string): Promise<void> {
  const cluster = shop.current
  for (const name of all)
    await cluster.until(
      `${query} at ${name} is ${wanted}`,
      async () => (await cluster.value(name, query).catch(() => undefined)) === wanted,
    )
}

async function comesBack(instance: string): Promise<void> {
  const cluster = shop.current
  const { pid } = await cluster.instance(instance)
  await cluster.fault(instance, 'kill-mysqld')
  await cluster.otherMysqld(instance, pid)
  await cluster.whole(3, wholeMs)
}

it('A group whose schema of Regent and whose accounts somebody took away has both again within seconds, and members that end come back', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole(3, wholeMs)
  await byHand(cluster, primary!, 'drop database regent')
  await everywhere('select count(*) from regent.marker', '32')
  await replaceAccounts(cluster, primary!)
  await everywhere("select count(*) from mysql.user where user in ('regent', 'regent_group')", '3')
  const [secondary] = await cluster.replicas()
  await comesBack(secondary!)
  await comesBack(await cluster.primary())
}, 400_000)
