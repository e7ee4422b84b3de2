import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { Strangers } from '#test/support/strangers.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-disk-'))
const whyNoDisk = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNoDisk !== undefined) console.warn(`the candidate's disk does not get full: ${whyNoDisk}`)

const megabyte = 1_048_576

/** What users of MHA know, on servers of somebody else. */
describe('Servers reached by SSH, of which the primary is dead', () => {
  let strangers: Strangers
  let cluster: TestCluster
  let disk: SmallDisk | undefined
  /** It has a disk of its own. */
  const small = 'shop-2'

  beforeAll(async () => {
    strangers = await Strangers.start({ roads: true })
    if (whyNoDisk === undefined) {
      const host = strangers.hostOf(small)
      await host.kill()
      // It sees only what was mounted before.
      await host.sshd?.stop()
      disk = await SmallDisk.create(join(host.folder, 'data'), 900)
      await host.start(`${strangers.home}/id.pub`)
      await host.sql('SET GLOBAL read_only = ON')
    }
    cluster = await strangers.manage()
  })
  // A test that failed leaves nothing to the next.
  afterEach(async () => {
    await strangers.signalAgents('SIGCONT')
    await strangers.regent('resume', 'shop')
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.regent('local', 'down', 'shop', '--purge')
    await strangers.hostOf(small).kill()
    await disk?.remove()
    await strangers.end()
  })

  const begin = async (table: string): Promise<Writer> => {
    await cluster.whole()
    return Writer.start(cluster, { table, bodyBytes: 10_000 })
  }

  const resume = (): Promise<number> => strangers.resume(cluster)

  /** Resolves to who leads. */
  const nothingIsLost = async (writer: Writer, dead: string, sinceMs: number): Promise<string> => {
    await writer.next(sinceMs, { notBy: strangers.hostOf(dead).address })
    const leads = await cluster.primary()
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    return leads
  }

  const primaryIs = async (name: string): Promise<void> => {
    await cluster.whole()
    if ((await cluster.primary()) !== name) expect(await cluster.switchover({ to: name })).toMatchObject({ done: true })
  }

  it.each(['shop-2', 'shop-1'])(
    'are led by %s where that is the most advanced, with what only the dead one has',
    async (most) => {
      await primaryIs('shop-0')
      const writer = await begin(`most_${most.at(-1)}`)
      const dead = await strangers.endWithTail(cluster, writer, most)
      expect(await nothingIsLost(writer, dead, await resume())).toBe(most)
    },
  )

  it.skipIf(whyNoDisk !== undefined)(
    'are not led by the most advanced where its disk has no room for the rest',
    async () => {
      await primaryIs('shop-0')
      const writer = await begin('full')
      const dead = await strangers.endWithTail(cluster, writer, small)
      await disk?.fillUntil(0.3)
      const resumedMs = await resume()
      await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
      expect(await cluster.primary()).toBe('shop-1')
      await disk?.makeRoom()
      await nothingIsLost(writer, dead, resumedMs)
    },
  )

  it('are read from the place that was known, however much lies before', async () => {
    await primaryIs('shop-0')
    const host = strangers.hostOf('shop-0')
    await host.sql('CREATE TABLE app.large (id INT PRIMARY KEY, body LONGBLOB)')
    for (let written = 0; written < 60; written += 1)
      await host.sql(`REPLACE INTO app.large VALUES (1, REPEAT('x', ${megabyte}))`)
    const writer = await begin('large')
    const begunMs = monotonicMs()
    await cluster.until('a thousand writes', async () => writer.begunSince(begunMs).length > 1_000)
    const [status] = await host.sql('SHOW BINARY LOG STATUS')
    const [size, before, killedMs] = [Number(status?.['Position']), host.road?.bytesBack ?? 0, monotonicMs()]
    await host.kill()
    await nothingIsLost(writer, 'shop-0', killedMs)
    expect((host.road?.bytesBack ?? Infinity) - before).toBeLessThan(size / 2)
  })

  it('come back with what nobody else has: they are shown, and stay apart until a person has decided', async () => {
    const writer = await begin('errant')
    const dead = await strangers.endWithTail(cluster, writer)
    const { road } = strangers.hostOf(dead)
    road?.close()
    const resumedMs = await resume()
    await cluster.waitFor('it waits for a person', ({ sentence }) => sentence.startsWith('no automatic failover: '))
    expect(await cluster.regent('failover', 'shop', '--accept-loss')).toMatchObject({ code: 0 })
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    road?.mend()
    const view = await cluster.waitFor('what it has alone is shown', ({ instances }) =>
      /that primary shop-\d has not/.test(troublesOf(instances, dead)),
    )
    expect(view.primary).not.toBe(dead)
    expect(view.syncSet).not.toContain(dead)
    // Its agent lets accounts change for a moment, behind read_only and offline_mode.
    await cluster.until('it is closed', async () => {
      const [row] = await strangers.hostOf(dead).sql('SELECT @@super_read_only AS closed, @@read_only AS softly')
      expect(row).toMatchObject({ softly: 1 })
      return row?.['closed'] === 1
    })
  })
})

it('The others are levelled from the binlogs of the most advanced, whose relay logs are purged, where the dead one cannot be read', async () => {
  const strangers = await Strangers.start({ roads: true })
  try {
    const cluster = await strangers.manage()
    await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'purged' })
    const dead = await strangers.endWithTail(cluster, writer, 'shop-2')
    const most = strangers.hostOf('shop-2')
    // What is applied is in no relay log any more.
    await most.sql(
      'SELECT WAIT_FOR_EXECUTED_GTID_SET(RECEIVED_TRANSACTION_SET) FROM performance_schema.replication_connection_status',
    )
    await most.sql('FLUSH RELAY LOGS', 'FLUSH RELAY LOGS')
    const [held] = await most.sql('SELECT COUNT(*) AS n FROM app.purged')
    strangers.hostOf(dead).road?.close()
    await strangers.resume(cluster)
    await cluster.waitFor('it waits for a person', ({ sentence }) => sentence.startsWith('no automatic failover: '))
    expect(await cluster.regent('failover', 'shop', '--accept-loss')).toMatchObject({ code: 0 })
    await cluster.waitFor('another one leads', ({ writable, primary }) => writable === true && primary !== dead)
    expect(await cluster.primary()).toBe('shop-2')
    await cluster.until('the third one has all of it', async () => {
      const [row] = await strangers
        .hostOf(dead === 'shop-0' ? 'shop-1' : 'shop-0')
        .sql('SELECT COUNT(*) AS n FROM app.purged')
      return Number(row?.['n']) >= Number(held?.['n'])
    })
  } finally {
    await stopWriters()
    await strangers.end()
  }
})

it('A second death within the window is not followed by a failover: its mysqld is started where it was', async () => {
  const strangers = await Strangers.start({ failover: { windowMs: 300_000 } })
  try {
    const cluster = await strangers.manage()
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const [first, firstMs] = [await cluster.primary(), monotonicMs()]
    await strangers.hostOf(first).kill()
    await writer.next(firstMs, { notBy: strangers.hostOf(first).address })
    const { epoch, primary: second } = await cluster.whole()
    const secondMs = monotonicMs()
    // The sentence lasts until mysqld runs again, which may be before the kill is seen here.
    const isSaid = cluster.waitFor('it says when the next may be', ({ sentence }) =>
      /the last automatic failover was at .*, the next one may be at .* \(window 300 s\)/.test(sentence),
    )
    await Promise.all([isSaid, strangers.hostOf(second ?? '').kill()])
    await writer.next(secondMs)
    expect(await cluster.whole()).toMatchObject({ primary: second, epoch })
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  } finally {
    await stopWriters()
    await strangers.end()
  }
})
