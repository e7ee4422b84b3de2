import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { hasSocketAt } from '#test/support/socket-owner.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

describe('Three servers that nothing but SQL reaches, with any loss accepted ahead of time', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ ssh: false, start: false, failover: { acceptLoss: 'always' } })
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('are failed over when mysqld of their primary is killed, and the old one follows, or is named with what it alone has', async () => {
    const writer = await Writer.start(cluster)
    const killedMs = monotonicMs()
    await strangers.hostOf('shop-0').kill()
    const { host } = await writer.next(killedMs, { notBy: strangers.hostOf('shop-0').address })
    expect(host).not.toBe(strangers.hostOf('shop-0').address)
    await strangers.hostOf('shop-0').start()
    const alone = await cluster.until('the old one is judged', () => aloneAt(cluster, 'shop-0'))
    const { lost } = await writer.check('shop-0')
    expect(alone).toBeGreaterThanOrEqual(lost.length)
  })

  it('are failed over without what no replica received, and that is counted and named when the old primary is back', async () => {
    const { epoch } = await cluster.view()
    const writer = await Writer.start(cluster, { table: 'tail' })
    const dead = await strangers.endWithTail(cluster, writer)
    await strangers.signalAgents('SIGCONT')
    const resumedMs = monotonicMs()
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    const recovery = await cluster.recoveryOf(Number(epoch))
    expect(recovery).toMatchObject({ kind: 'failover' })
    expect(recovery.loss?.unheardSeconds).toBeGreaterThan(0)
    expect(JSON.stringify(recovery)).toMatch(new RegExp(`\\d+ transactions? heard of ${dead}`))
    await strangers.hostOf(dead).start()
    const alone = await cluster.until('it is named', () => aloneAt(cluster, dead))
    // The one that died before stays apart where it had something alone.
    const { lost } = await writer.check(dead, 'shop-0')
    expect(lost.length).toBeGreaterThan(50)
    expect(alone).toBeGreaterThanOrEqual(lost.length)
    const [row] = await strangers.hostOf(dead).sql('SELECT @@super_read_only AS closed, @@offline_mode AS offline')
    expect(row).toEqual({ closed: 1, offline: 1 })
  })
})

describe('Three servers that nothing but SQL reaches, whose primary is only paused', () => {
  let strangers: Strangers

  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('are failed over where any loss is accepted, and the old primary is closed by SQL once it goes on', async () => {
    strangers = await Strangers.start({ ssh: false, start: false, failover: { acceptLoss: 'always' } })
    const cluster = await strangers.manage()
    const writer = await Writer.start(cluster)
    const { server, address } = strangers.hostOf('shop-0')
    const pausedMs = monotonicMs()
    await server.signal('SIGSTOP')
    await writer.next(pausedMs, { notBy: address })
    await server.signal('SIGCONT')
    await cluster.until('the old primary is closed', async () => {
      // Its agent ends every session just then, this one too.
      const [row] = await server.sql('SELECT @@super_read_only AS closed').catch(() => [])
      return row?.['closed'] === 1
    })
    const alone = await cluster.until('it is judged', () => aloneAt(cluster, 'shop-0'))
    const { lost } = await writer.check('shop-0')
    expect(alone).toBeGreaterThanOrEqual(lost.length)
  })
})

describe('Three servers that nothing but SQL reaches, with no loss accepted', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ ssh: false, start: false, sqlRoads: true })
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('sync a relay log that FLUSH RELAY LOGS closes, which a promise rests upon', async () => {
    const synced = await strangers.hostOf('shop-1').sql(
      "UPDATE performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES' WHERE NAME = 'wait/io/file/sql/relaylog'",
      "UPDATE performance_schema.setup_consumers SET ENABLED='YES' WHERE NAME LIKE 'events_waits%'",
      'FLUSH NO_WRITE_TO_BINLOG RELAY LOGS',
      `SELECT OBJECT_NAME AS file FROM performance_schema.events_waits_history_long
           WHERE EVENT_NAME = 'wait/io/file/sql/relaylog' AND OPERATION = 'sync' AND THREAD_ID = PS_CURRENT_THREAD_ID()`,
    )
    expect(synced.map(({ file }) => String(file))).toContainEqual(expect.stringMatching(/relay-of-mine\.\d+$/))
  })

  it('keep their primary while only the road of the manager to it is cut', async () => {
    const { sqlRoad, address } = strangers.hostOf('shop-0')
    const replicas = strangers.hosts.filter((host) => host.address !== address)
    const pids = await Promise.all(replicas.map((host) => host.pid()))
    await cluster.whole()
    sqlRoad?.close((port) => !pids.some((pid) => hasSocketAt(pid, port)))
    const sentence = await cluster.until('it is seen', async () => {
      const { sentence } = await cluster.view()
      return sentence.includes('still hear its server') ? sentence : undefined
    })
    expect(sentence).toContain('shop-1 and shop-2')
    expect(await cluster.primary()).toBe('shop-0')
    sqlRoad?.mend()
    await cluster.whole()
    expect(await cluster.primary()).toBe('shop-0')
    expect((await cluster.recoveries()).filter(({ kind }) => kind === 'failover')).toEqual([])
  })

  it('wait for a person when mysqld of their primary is killed, and the sentence says what to do', async () => {
    const writer = await Writer.start(cluster)
    await strangers.hostOf('shop-0').kill()
    const killedMs = monotonicMs()
    await cluster.until('a person is waited for', async () => {
      const { sentence } = await cluster.view()
      return sentence.startsWith('no automatic failover') && sentence.includes('regent failover --accept-loss')
    })
    const ran = await cluster.regent('failover', 'shop', '--accept-loss')
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    await writer.next(killedMs, { notBy: strangers.hostOf('shop-0').address })
    expect(await cluster.primary()).not.toBe('shop-0')
  })
})

describe('Three servers of which one has no SSH', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ ssh: [1] })
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('lose nothing when the primary has SSH: what only it has goes to one that can be given files', async () => {
    const writer = await Writer.start(cluster)
    const dead = await strangers.endWithTail(cluster, writer)
    expect(dead).toBe('shop-0')
    await strangers.signalAgents('SIGCONT')
    const resumedMs = monotonicMs()
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    expect(await cluster.primary()).toBe('shop-2')
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})

/** How many transactions this one alone has, once that is known: none where it follows. */
async function aloneAt(cluster: TestCluster, name: string): Promise<number | undefined> {
  const { problems, whole } = await cluster.view()
  const named = problems.find(({ code, instance }) => code === 'ErrantTransactions' && instance === name)
  if (named !== undefined) return Number(/has (\d+) transaction/.exec(named.sentence)?.[1])
  return whole ? 0 : undefined
}
