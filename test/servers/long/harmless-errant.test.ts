import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { archivesOf, logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

it('What FLUSH, ANALYZE and OPTIMIZE write at replicas becomes empty transactions at the primary: nobody is archived or seeded again, and both go on counting', async () => {
  const cluster = shop.current
  await cluster.whole()
  const primary = await cluster.primary()
  const replicas = await cluster.replicas()
  const writer = await Writer.start(cluster)
  const uuids = await Promise.all(replicas.map((name) => cluster.value(name, 'select @@server_uuid')))
  const lacking = new Set<string>()
  const unsubscribe = cluster.views.subscribe(({ syncSet, sentence }) => {
    if (syncSet.length < replicas.length) lacking.add(sentence)
  })
  await Promise.all(replicas.map((name) => byHand(cluster, name, 'flush slow logs', 'flush tables')))
  // A replica that its agent sees open is made a copy: nobody knows what was written.
  for (const name of replicas) {
    await cluster.fault(name, 'freeze-agent')
    await byHand(
      cluster,
      name,
      'set global super_read_only = off',
      'analyze table app.writes',
      'optimize table app.writes',
      'set global super_read_only = on',
    )
    await cluster.fault(name, 'thaw-agent')
  }
  for (const [at, name] of replicas.entries()) {
    const executed = (await cluster.value(name, 'select @@global.gtid_executed')).replace(/\s/g, '')
    expect(executed).toContain(uuids[at])
    await cluster.until(
      `${primary} has what ${name} wrote`,
      async () => (await cluster.value(primary, `select gtid_subset('${executed}', @@global.gtid_executed)`)) === '1',
    )
  }
  await cluster.whole()
  await writer.next()
  unsubscribe()
  expect([...lacking]).toEqual([])
  expect(await logOf(cluster, primary)).toMatch(
    /\d empty transactions? took the place of what changed no data on shop-/,
  )
  for (const [at, replica] of replicas.entries()) {
    expect(await cluster.value(replica, 'select @@server_uuid')).toBe(uuids[at])
    expect(await archivesOf(cluster, replica)).toEqual([])
  }
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
