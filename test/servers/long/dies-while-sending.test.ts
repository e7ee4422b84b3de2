import { expect, it } from 'vitest'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

const rows = `insert into app.large (body) with recursive n (i) as (select 1 union all select i + 1 from n where i < 400)
  select repeat(sha2(rand(), 256), 4000) from n`

/** How many appliers of a replica work on a transaction that arrives. */
const begun = `select count(*) from performance_schema.replication_connection_status
  join performance_schema.replication_applier_status_by_worker on applying_transaction = queueing_transaction
  where queueing_transaction <> ''`

it('A primary that dies while it sends a transaction of 100 MB is replaced as fast as any other', async () => {
  const cluster = shop.current
  await cluster.sql('shop-0', 'create table app.large (id int auto_increment primary key, body longblob)')
  for (let round = 0; round < 4; round += 1) {
    const { primary } = await cluster.whole(3, 120_000)
    const replicas = await cluster.replicas()
    const written = (await cluster.session(primary!)).query(rows).catch(() => undefined)
    await cluster.until(
      'both replicas have begun with a part',
      async () => (await Promise.all(replicas.map((name) => cluster.value(name, begun)))).join() === '1,1',
    )
    await cluster.fault(primary!, 'kill')
    await cluster.waitFor('another primary is writable', (view) => view.primary !== primary && view.writable, 15_000)
    await cluster.fault(primary!, 'start')
    await written
  }
  const { primary, instances } = await cluster.whole(3, 120_000)
  expect(Number(await cluster.value(primary!, 'select count(*) from app.large')) % 400).toBe(0)
  expect(troublesOf(instances)).toBe('')
})
