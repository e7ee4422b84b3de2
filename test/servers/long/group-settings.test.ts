import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const spec = { mode: 'group', failover: { windowMs: 0 } } as const
const shop = withCluster({ spec })
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

const protocol = 'select group_replication_get_communication_protocol()'
const consistency = 'select @@global.group_replication_consistency'

it('A group that speaks an older protocol than its members could is raised to theirs by the agent of its primary, which says so', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await byHand(cluster, primary!, "select group_replication_set_communication_protocol('8.0.16')")
  await cluster.until(
    'the protocol is raised',
    async () => (await cluster.value(primary!, protocol)) === '8.0.27',
    30_000,
  )
  for (const name of all) expect(await cluster.value(name, protocol)).toBe('8.0.27')
  await cluster.until(
    'that is said',
    async () =>
      /the group speaks protocol 8\.0\.27 from now on: .* the group spoke 8\.0\.16/.test(
        await logOf(cluster, primary!),
      ),
    10_000,
  )
  await writer.next()
  console.log(`protocol raised under a writer: longest pause ${Math.round(writer.longestPause().pauseMs)} ms`)
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A consistency that is changed in the spec is taken by every member while it runs: no server starts again', async () => {
  const cluster = shop.current
  const before = await cluster.status()
  const writer = await Writer.start(cluster)
  const file = join(cluster.home, 'changed.yaml')
  await writeFile(file, JSON.stringify({ ...spec, group: { consistency: 'BEFORE' } }))
  const ran = await cluster.regent('local', 'up', 'shop', '--config', file)
  await rm(file)
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('group.consistency is BEFORE') as string })
  for (const name of all)
    await cluster.until(`${name} takes it`, async () => (await cluster.value(name, consistency)) === 'BEFORE', 10_000)
  const after = await cluster.status()
  expect(after.instances.map(({ pid }) => pid)).toEqual(before.instances.map(({ pid }) => pid))
  expect(after.managerPid).toBe(before.managerPid)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A consistency that somebody changes at one member is put right there', async () => {
  const cluster = shop.current
  await byHand(cluster, 'shop-1', "set global group_replication_consistency = 'EVENTUAL'")
  await cluster.until('it is put right', async () => (await cluster.value('shop-1', consistency)) === 'BEFORE', 10_000)
})

it.each([
  ['exit_state_action', "'READ_ONLY'", 'OFFLINE_MODE'],
  ['unreachable_majority_timeout', '0', '20'],
  ['member_expel_timeout', '3600', '0'],
  ['autorejoin_tries', '3', '0'],
  ['start_on_boot', 'ON', '0'],
  ['components_stop_timeout', '300', '30'],
  ['message_cache_size', '1073741824', '134217728'],
  ['clone_threshold', '1', '9223372036854775807'],
  ['recovery_reconnect_interval', '60', '2'],
  ['communication_stack', "'XCOM'", 'MYSQL'],
  ['ssl_mode', "'DISABLED'", 'REQUIRED'],
  ['recovery_use_ssl', 'OFF', '1'],
  ['recovery_get_public_key', 'OFF', '1'],
  ['paxos_single_leader', 'ON', '0'],
  ['bootstrap_group', 'ON', '0'],
])(
  'group_replication_%s that somebody changes at a member is put right, and that is said',
  async (name, by, wanted) => {
    const cluster = shop.current
    const variable = `group_replication_${name}`
    await byHand(cluster, 'shop-2', `set global ${variable} = ${by}`)
    const isRight = async () => (await cluster.value('shop-2', `select @@global.${variable}`)) === wanted
    await cluster.until(`${variable} is ${wanted} again`, isRight, 10_000)
    await cluster.until(
      'that is said',
      async () =>
        (await logOf(cluster, 'shop-2')).includes(
          `${variable} is ${by === 'ON' ? 'OFF' : by === 'OFF' ? 'ON' : wanted} again`,
        ),
      10_000,
    )
  },
)
