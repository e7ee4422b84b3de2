import { describe, expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const doubt = 'began here by the name of another server'

/** What the primary gave last, as `uuid` and number. */
async function lastOf(cluster: TestCluster, primary: string): Promise<readonly [uuid: string, number: number]> {
  const uuid = await cluster.value(primary, 'select @@server_uuid')
  const executed = await cluster.value(primary, 'select @@global.gtid_executed')
  const own = executed.split(',').find((part) => part.trim().startsWith(uuid)) ?? ''
  return [uuid, Number(/(\d+)\s*$/.exec(own)?.[1])]
}

const skip = (gtid: string) => [`set gtid_next = '${gtid}'`, 'begin', 'commit', `set gtid_next = 'automatic'`]

describe.each(['semisync', 'async'] as const)('In mode %s', (mode) => {
  const shop = withCluster({ spec: { mode } })

  it('a replica where a hand skipped a transaction is named, counts for nothing and is seeded again; what primaries empty, and who changes places, is not', async () => {
    const cluster = shop.current
    await cluster.whole()
    const primary = await cluster.primary()
    const [replica = '', other = ''] = await cluster.replicas()
    const writer = await Writer.start(cluster)
    await byHand(cluster, other, 'flush slow logs')
    const errant = await cluster.value(other, 'select @@server_uuid')
    await cluster.until(`${primary} has what ${other} wrote`, async () =>
      (await cluster.value(primary, 'select @@global.gtid_executed')).includes(errant),
    )
    for (const to of [replica, primary]) {
      await cluster.switchover({ to })
      await cluster.whole()
      await writer.next()
    }
    await writer.stop()
    for (const name of [primary, replica, other]) expect(await logOf(cluster, name)).not.toContain(doubt)

    await byHand(cluster, primary, 'create table app.skipped (id int primary key)')
    await cluster.whole()
    const uuid = await cluster.value(other, 'select @@server_uuid')
    let hasLeft = false
    const unsubscribe = cluster.views.subscribe(({ syncSet }) => {
      hasLeft ||= !syncSet.some((member) => member.startsWith(other))
    })
    // Its agent sees nothing of what the hand does, and would start the applier.
    await cluster.fault(other, 'freeze-agent')
    await byHand(cluster, other, 'stop replica sql_thread')
    const [source, before] = await lastOf(cluster, primary)
    await byHand(cluster, primary, 'insert into app.skipped values (1)')
    await byHand(cluster, other, ...skip(`${source}:${before + 1}`), 'start replica sql_thread')
    const hole = await cluster.value(other, 'select count(*) from app.skipped')
    await cluster.fault(other, 'thaw-agent')
    await cluster.until(`${other} is named`, async () => (await logOf(cluster, other)).includes(doubt), 10_000)
    await cluster.until(
      `${other} is a copy`,
      async () => (await cluster.value(other, 'select @@server_uuid').catch(() => uuid)) !== uuid,
      90_000,
    )
    await cluster.whole(3, 120_000)
    unsubscribe()
    expect(hole).toBe('0')
    expect(hasLeft).toBe(true)
    expect(await cluster.value(other, 'select count(*) from app.skipped')).toBe('1')
    for (const name of [primary, replica]) expect(await logOf(cluster, name)).not.toContain(doubt)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  }, 300_000)
})
