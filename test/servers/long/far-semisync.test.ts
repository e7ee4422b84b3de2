import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

describe('Three servers of somebody else, reached by SSH, in mode semisync', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ mode: 'semisync', reseed: 'automatic' })
    cluster = await strangers.manage()
    await cluster.whole()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it.each(['killed', 'frozen', 'killed again'])(
    'lose nothing when their primary is %s, and are whole again: what nobody acknowledged is archived, and its server a copy',
    async (how) => {
      const primary = await cluster.primary()
      const writer = await Writer.start(cluster, { table: how.replace(' ', '_') })
      const { server, address } = strangers.hostOf(primary)
      const atMs = monotonicMs()
      await server.signal(how === 'frozen' ? 'SIGSTOP' : 'SIGKILL')
      await writer.next(atMs, { notBy: address })
      if (how === 'frozen') await server.signal('SIGCONT').catch(() => undefined)
      await cluster.whole()
      expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    },
  )

  it('take writes again although an account statement waits for its acknowledgement, and keeps everybody out', async () => {
    const { primary } = await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'kept_out' })
    const session = await strangers.hostOf(primary ?? '').root()
    for (const name of await cluster.replicas()) await strangers.hostOf(name).kill()
    const waits = session.query("CREATE USER somebody@'%'").catch(() => undefined)
    await writer.next(monotonicMs())
    await waits
    session.destroy()
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('do not count a replica whose host was booted anew before that has caught up: what it acknowledged may be lost', async () => {
    await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'booted' })
    const [name = ''] = await cluster.replicas()
    const { server, sshd } = strangers.hostOf(name)
    await server.signal('SIGKILL')
    await sshd?.reboot()
    await cluster.until('its agent says so', async () =>
      (await strangers.agentsLog()).includes('it counts for nothing until it has caught up'),
    )
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
