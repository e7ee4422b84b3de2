import { expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

/** Each event and its state, where events run. */
const states =
  "select group_concat(concat(event_name, ' ', status) order by event_name) from information_schema.events where event_schema = 'app'"

async function recorded(cluster: TestCluster, events: string): Promise<void> {
  for (const name of ['shop-0', 'shop-1', 'shop-2']) {
    const query = 'select group_concat(name order by name) from regent.disabled_event'
    await cluster.until(
      `${events} is recorded at ${name}`,
      async () => (await cluster.value(name, query).catch(() => '')) === events,
    )
  }
}

async function runs(cluster: TestCluster, primary: string, wanted: string): Promise<void> {
  await cluster.until(
    `events of ${primary} are ${wanted}`,
    async () => (await cluster.value(primary, states).catch(() => '')) === wanted,
  )
  await cluster.until(
    'its scheduler runs',
    async () => (await cluster.value(primary, 'select @@global.event_scheduler')) === 'ON',
  )
}

it('An event that a person disabled stays disabled at every next primary, and one that ran goes on', async () => {
  const cluster = shop.current
  await cluster.whole()
  const every = 'on schedule every 1 day do delete from app.e where id < 0'
  await cluster.sql('shop-0', 'create table app.e (id int primary key)')
  for (const statement of [
    `create event app.runs ${every}`,
    `create event app.stopped ${every}`,
    'alter event app.stopped disable',
  ])
    await cluster.sql('shop-0', statement)
  await recorded(cluster, 'stopped')
  await cluster.switchover({ to: 'shop-1' })
  await runs(cluster, 'shop-1', 'runs ENABLED,stopped DISABLED')
  await cluster.whole()
  // What is changed there is known at the next one too.
  await cluster.sql('shop-1', 'alter event app.stopped enable')
  await cluster.sql('shop-1', 'alter event app.runs disable')
  await recorded(cluster, 'runs')
  await cluster.fault('shop-1', 'kill-mysqld')
  const { primary } = await cluster.waitFor('another one leads', (view) => view.primary !== 'shop-1' && view.writable)
  if (primary === null) throw new Error('there is no primary')
  await runs(cluster, primary, 'runs DISABLED,stopped ENABLED')
  await cluster.whole()
  await cluster.switchover({ to: 'shop-1' })
  await runs(cluster, 'shop-1', 'runs DISABLED,stopped ENABLED')
  expect(
    await cluster.value('shop-1', "select count(*) from information_schema.events where definer not like 'admin@%'"),
  ).toBe('0')
})
