import { expect, it } from 'vitest'
import type { InstanceRow } from '#api-contract/views.ts'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** What a hand changes of a group, and how the group is put right. */
const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

const wrongPassword = "alter user regent_group identified by 'Another-1'"
const accountPrint = "select sha2(authentication_string, 256) from mysql.user where user = 'regent_group'"

/** Until the log of an agent says so for at least the `times`-th time. */
async function said(instance: string, what: RegExp, times = 1): Promise<void> {
  const found = async () => [...(await logOf(shop.current, instance)).matchAll(new RegExp(what, 'g'))].length >= times
  await shop.current.until(`${instance} says ${what}`, found, 20_000)
}

async function isAway(killed: string): Promise<void> {
  const isApart = ({ name, process, group }: InstanceRow) =>
    name === killed && (process !== 'running' || group?.state !== 'ONLINE')
  await shop.current.waitFor(`${killed} is away`, ({ instances }) => instances.some(isApart))
}

it.each([
  ['another password', wrongPassword, /lets no member in with the password of this cluster/],
  [
    'no right to the messages of the group',
    'revoke group_replication_stream on *.* from regent_group',
    /GROUP_REPLICATION_STREAM/,
  ],
  ['a lock', 'alter user regent_group account lock', /is locked/],
])(
  'The account of the group that has %s by another hand is put right at once, and a member that died can come back',
  async (_, statement, why) => {
    const cluster = shop.current
    const { primary } = await cluster.whole()
    const [killed = ''] = await cluster.replicas()
    await byHand(cluster, primary!, statement)
    await said(primary!, why)
    await cluster.fault(killed, 'kill-mysqld')
    await isAway(killed)
    await cluster.whole()
  },
)

it('A member that has the wrong account itself, and is outside of the group, puts its own right and comes back', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [killed = ''] = await cluster.replicas()
  await cluster.fault(primary!, 'freeze-agent')
  await byHand(cluster, primary!, wrongPassword)
  const wrong = await cluster.value(primary!, accountPrint)
  await cluster.until('it has it too', async () => (await cluster.value(killed, accountPrint)) === wrong)
  await cluster.fault(killed, 'kill-mysqld')
  await said(killed, /the account regent_group of this server .* is right again/)
  await cluster.fault(primary!, 'thaw-agent')
  await cluster.whole()
  for (const name of all) expect(await cluster.value(name, accountPrint)).not.toBe(wrong)
})

it('A group that somebody switches to multi-primary mode has one primary again within seconds, the same as before', async () => {
  const cluster = shop.current
  const { primary, epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await byHand(cluster, primary!, 'select group_replication_switch_to_multi_primary_mode()')
  await said(primary!, /has one primary again/)
  for (const name of all)
    await cluster.until(
      `${name} is ${name === primary ? 'open' : 'closed'}`,
      async () => (await cluster.value(name, 'select @@global.super_read_only')) === (name === primary ? '0' : '1'),
      5_000,
    )
  for (const name of all)
    expect(await cluster.value(name, 'select @@global.group_replication_single_primary_mode')).toBe('1')
  expect(await cluster.whole()).toMatchObject({ primary, epoch })
  await cluster.until('nothing is persisted', async () => (await cluster.explain()).analyses.length === 0, 10_000)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it.each(['the primary', 'another member'])(
  'A group in multi-primary mode whose %s dies has one primary again, and the dead one comes back',
  async (who) => {
    const cluster = shop.current
    const { primary } = await cluster.whole()
    const writer = await Writer.start(cluster)
    const killed = who === 'the primary' ? primary! : (await cluster.replicas())[0]!
    await byHand(cluster, primary!, 'select group_replication_switch_to_multi_primary_mode()')
    await cluster.fault(killed, 'kill-mysqld')
    await isAway(killed)
    const after = await cluster.whole()
    if (who === 'the primary') expect(after.primary).not.toBe(killed)
    for (const name of all)
      expect(await cluster.value(name, 'select @@global.super_read_only')).toBe(name === after.primary ? '0' : '1')
    await writer.next()
    expect(await writer.check()).toMatchObject(nothingLost)
  },
)

it('A group whose action that opens a primary is switched off has the elected one opened by its agent', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  const action = "'mysql_disable_super_read_only_if_primary', 'AFTER_PRIMARY_ELECTION'"
  await byHand(cluster, primary!, `select group_replication_disable_member_action(${action})`)
  await cluster.fault(primary!, 'kill-mysqld')
  await isAway(primary!)
  const after = await cluster.whole()
  expect(after.primary).not.toBe(primary)
  await said(after.primary!, /the group elected this member and left the server read-only/)
  await byHand(cluster, after.primary!, `select group_replication_enable_member_action(${action})`)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})
