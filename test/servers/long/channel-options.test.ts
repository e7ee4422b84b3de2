import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { failover: { windowMs: 0 } } })

const change = (option: string) => `change replication source to ${option}`

/** As a person would, again until no repair came in between. */
async function changedByHand(instance: string, thread: string, option: string): Promise<void> {
  const statements = [`stop replica ${thread}`, change(option), 'start replica']
  const tried = () =>
    byHand(shop.current, instance, ...statements).then(
      () => true,
      () => false,
    )
  await shop.current.until(`a hand was quick enough: ${option}`, tried, 10_000)
}

async function lostNothing(instance: string): Promise<void> {
  expect(await logOf(shop.current, instance)).not.toMatch(/thrown away|threw away/)
}

const delayOf = (instance: string) =>
  shop.current.value(
    instance,
    "select desired_delay from performance_schema.replication_applier_configuration where channel_name = ''",
  )

it('A replica that somebody delays by ten minutes applies at once again within seconds, with everything that it had received', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await changedByHand('shop-2', 'sql_thread', 'source_delay = 600')
  await cluster.until('the delay is lifted', async () => (await delayOf('shop-2')) === '0', 5_000)
  await cluster.until(
    'it is reported',
    async () => /SOURCE_DELAY is 0 again \(by another hand it was 600\)/.test(await logOf(cluster, 'shop-2')),
    5_000,
  )
  await writer.next()
  await cluster.whole()
  await lostNothing('shop-2')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

const others: readonly (readonly [thread: string, option: string, table: string, column: string, wanted: string])[] = [
  ['sql_thread', 'require_table_primary_key_check = on', 'applier', 'require_table_primary_key_check', 'STREAM'],
  ['io_thread', 'source_connect_retry = 60', 'connection', 'connection_retry_interval', '1'],
  ['io_thread', 'source_retry_count = 3', 'connection', 'connection_retry_count', '1000000000'],
  ['io_thread', 'source_heartbeat_period = 30', 'connection', 'heartbeat_interval', '0.5'],
  ['io_thread', "source_compression_algorithms = 'zstd'", 'connection', 'compression_algorithm', 'uncompressed'],
  ['io_thread', "source_bind = '127.0.0.1'", 'connection', 'network_interface', ''],
  ['', 'require_row_format = 1', 'applier', 'require_row_format', 'NO'],
  ['', 'require_row_format = 1, gtid_only = 1', 'connection', 'gtid_only', '0'],
]

it('Every other option of the channel that somebody changes is put right too, and nothing received is lost', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  for (const [thread, option, table, column, wanted] of others) {
    await changedByHand('shop-1', thread, option)
    const now = () =>
      cluster.value(
        'shop-1',
        `select ${column} from performance_schema.replication_${table}_configuration where channel_name = ''`,
      )
    await cluster.until(`${option} is put right`, async () => (await now()) === wanted, 10_000)
  }
  await writer.next()
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 120_000)

it('A replica whose password somebody changed follows again, though its source has ended its connection', async () => {
  const cluster = shop.current
  const primary = await cluster.primary()
  const replica = primary === 'shop-1' ? 'shop-2' : 'shop-1'
  await changedByHand(replica, 'io_thread', "source_password = 'something else'")
  await cluster.until(
    'it follows again',
    async () =>
      (await cluster.value(
        replica,
        "select service_state from performance_schema.replication_connection_status where channel_name = ''",
      )) === 'ON',
    10_000,
  )
  await cluster.whole()
})

it('With all replicas delayed at the moment in which the primary dies, a new primary opens within seconds with everything', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await writer.next()
  const old = await cluster.primary()
  const replicas = ['shop-0', 'shop-1', 'shop-2'].filter((name) => name !== old)
  await Promise.all(replicas.map((name) => changedByHand(name, 'sql_thread', 'source_delay = 600')))
  await cluster.fault(old, 'kill-mysqld')
  await cluster.waitFor('another primary is open', ({ primary, writable }) => primary !== old && writable, 10_000)
  await writer.next()
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 120_000)
