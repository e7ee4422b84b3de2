import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

const changes: readonly (readonly [name: string, by: string, wanted: string])[] = [
  ['sync_binlog', '0', '1'],
  ['innodb_flush_log_at_trx_commit', '2', '1'],
  ['binlog_error_action', "'IGNORE_ERROR'", 'ABORT_SERVER'],
  ['replica_exec_mode', "'IDEMPOTENT'", 'STRICT'],
  ['transaction_read_only', 'ON', '0'],
  ['max_user_connections', '1', '0'],
  ['max_allowed_packet', '1024', '67108864'],
  ['innodb_doublewrite', "'DETECT_ONLY'", 'ON'],
  ['binlog_order_commits', 'OFF', '1'],
  ['log_error_verbosity', '1', '2'],
  ['log_error_services', "'log_sink_internal'", 'log_filter_internal; log_sink_internal'],
  ['server_id', '77', 'its own'],
  ['enforce_gtid_consistency', "'WARN'", 'ON'],
  ['binlog_checksum', "'NONE'", 'CRC32'],
  ['binlog_expire_logs_seconds', '60', '0'],
  ['relay_log_purge', 'OFF', '1'],
  ['replica_preserve_commit_order', 'OFF', '1'],
  ['replica_net_timeout', '60', '5'],
  ['gtid_mode', "'ON_PERMISSIVE'", 'ON'],
]

it('Every managed setting that somebody changes while the primary runs is put right and reported, and nothing is lost', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const serverId = await cluster.value('shop-0', 'select @@global.server_id')
  for (const [name, by, said] of changes) {
    const wanted = name === 'server_id' ? serverId : said
    // The server itself refuses to loosen this one while GTIDs are on.
    const taken = await byHand(cluster, 'shop-0', `set global ${name} = ${by}`).then(
      () => true,
      () => false,
    )
    if (!taken) expect(name).toBe('enforce_gtid_consistency')
    const isRight = async () => (await cluster.value('shop-0', `select @@global.${name}`)) === wanted
    await cluster.until(`${name} is ${wanted} again`, isRight, 10_000)
    const report = new RegExp(`${name} is .* again \\(by another hand it was`)
    if (taken)
      await cluster.until(`${name} is reported`, async () => report.test(await logOf(cluster, 'shop-0')), 5_000)
  }
  await cluster.whole()
  await writer.next()
  expect(await cluster.primary()).toBe('shop-0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A managed setting that somebody changes on a replica is put right there, also one that the applier stands in the way of', async () => {
  const cluster = shop.current
  await byHand(cluster, 'shop-1', 'set global sync_binlog = 0')
  const value = (name: string) => cluster.value('shop-1', `select @@global.${name}`)
  await cluster.until('sync_binlog is 1 again', async () => (await value('sync_binlog')) === '1', 10_000)
  const loosen = () =>
    byHand(cluster, 'shop-1', 'stop replica sql_thread', 'set global replica_preserve_commit_order = OFF')
  await cluster.until(
    'a hand was quick enough',
    () =>
      loosen().then(
        () => true,
        () => false,
      ),
    10_000,
  )
  await cluster.until(
    'the order is kept again',
    async () => (await value('replica_preserve_commit_order')) === '1',
    10_000,
  )
  await cluster.whole()
})
