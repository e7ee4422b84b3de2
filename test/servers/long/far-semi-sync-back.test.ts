import { afterEach, expect, it } from 'vitest'
import { Strangers } from '#test/support/strangers.ts'

let strangers: Strangers | undefined

afterEach(() => strangers?.end())

it.each(['async', 'semisync'] as const)(
  'Semi-synchronous replication is as its owner had set it once mode %s manages the servers no more, with another primary too',
  async (mode) => {
    strangers = await Strangers.start({ mode, semiSync: true })
    const { hosts } = strangers
    const cluster = await strangers.manage()
    await cluster.whole()
    const ran = await cluster.regent('switchover', 'shop', '--to', 'shop-1')
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    await cluster.whole()
    const managed = await Promise.all(hosts.map((host) => setAt(host)))
    expect(managed.map((set) => set['source'])).toEqual([0, mode === 'async' ? 0 : 1, 0])

    await cluster.letGo()
    const back = await strangers.regent('adopt', 'watch', 'shop')
    expect(back, back.stderr).toMatchObject({ code: 0 })
    expect(await Promise.all(hosts.map((host) => setAt(host)))).toEqual([
      { source: 0, replica: 1, timeoutMs: 7777, acks: 1 },
      { source: 1, replica: 0, timeoutMs: 7777, acks: 1 },
      { source: 0, replica: 1, timeoutMs: 7777, acks: 1 },
    ])
    await cluster.until('both replicas acknowledge', async () => {
      const [row] = (await hosts[1]?.sql("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'")) ?? []
      return row?.['Value'] === '2'
    })
  },
)

async function setAt(host: Strangers['hosts'][number]) {
  const [row] = await host.sql(
    `SELECT @@global.rpl_semi_sync_source_enabled AS source, @@global.rpl_semi_sync_replica_enabled AS replica,
       @@global.rpl_semi_sync_source_timeout AS timeoutMs, @@global.rpl_semi_sync_source_wait_for_replica_count AS acks`,
  )
  return row ?? {}
}
