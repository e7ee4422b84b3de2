import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { archivesOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster({ spec: { mode: 'group' } })

it('What a member writes by FLUSH, in the group or outside of it, keeps nobody out: it joins again with the data that it has', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [member = ''] = await cluster.replicas()
  const uuid = await cluster.value(member, 'select @@server_uuid')
  await byHand(cluster, member, 'flush slow logs', 'set global group_replication_member_expel_timeout = 7')
  // By its agent, which has looked at the member since.
  const isRight = 'select @@global.group_replication_member_expel_timeout <> 7'
  await cluster.until('that is put right', async () => (await cluster.value(member, isRight)) === '1')
  await cluster.fault(member, 'freeze-agent')
  await byHand(cluster, member, 'stop group_replication', 'flush slow logs', 'flush status')
  await cluster.fault(member, 'thaw-agent')
  await cluster.until(
    'the primary has what the member wrote',
    async () => (await cluster.value(primary ?? '', `select @@global.gtid_executed like '%${uuid}:%'`)) === '1',
    60_000,
  )
  await cluster.whole()
  expect(await cluster.value(member, 'select @@server_uuid')).toBe(uuid)
  expect(await archivesOf(cluster, member)).toEqual([])
})
