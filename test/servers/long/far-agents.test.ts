import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noLoss } from '#failover/protocol/notes.ts'
import { runRegent, type TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { patienceMs } from '#test/support/patience.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

describe('Three servers of somebody else, reached by SSH, in mode async', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start()
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('are managed as they are, and lose nothing when the mysqld of their primary is killed', async () => {
    expect((await cluster.whole()).primary).toBe('shop-0')
    const writer = await Writer.start(cluster)
    const killedMs = monotonicMs()
    await strangers.hostOf('shop-0').kill()
    const { host } = await writer.next(killedMs, { notBy: strangers.hostOf('shop-0').address })
    expect(host).not.toBe(strangers.hostOf('shop-0').address)
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    expect((await cluster.recoveries())[0]).toMatchObject({ kind: 'failover', loss: noLoss })
  })

  it('what only the binlogs of the dead primary have is read over SSH, and applied before another one leads', async () => {
    await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'tail' })
    const dead = await strangers.endWithTail(cluster, writer)
    await strangers.signalAgents('SIGCONT')
    const resumedMs = monotonicMs()
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    const [recovery] = await cluster.recoveries()
    expect(recovery).toMatchObject({ kind: 'failover', outcome: 'succeeded' })
    const steps = recovery?.timeline.map(({ what }) => what) ?? []
    expect(steps).toEqual(expect.arrayContaining([expect.stringMatching(/^fetch shop-\d: [\d.]+ ms/)]))
  })

  it('have one keeper: watched until they are managed, and again from then on', async () => {
    expect((await strangers.regent('adopt', strangers.hostsFile)).stderr).toContain('shop is managed already')
    expect(await strangers.regent('adopt', 'start')).toMatchObject({ code: 0 })
    expect((await strangers.regent('adopt', 'list')).stdout).toContain('managed from this machine')
    expect(await strangers.regent('adopt', 'remove', 'shop')).toMatchObject({ code: 1 })
    expect((await strangers.regent('topology', 'shop')).stdout).toContain('WRITABLE')
    expect((await strangers.regent('local', 'down', 'shop', '--purge')).stderr).toContain('regent adopt watch shop')
    const words = ['adopt', 'manage', 'shop', '--check', '--file', strangers.hostsFile]
    const elsewhere = await runRegent(join(strangers.home, 'another-machine'), words, { deadlineMs: patienceMs })
    expect(elsewhere.stderr).toMatch(/shop-\d is managed from another machine: session \d+, from /)

    const { cluster: description } = cluster.layout
    await rename(description, `${description}.kept`)
    expect((await strangers.regent('local', 'down', 'shop', '--purge')).stderr).toContain(`Put ${description} back`)
    await rename(`${description}.kept`, description)

    await cluster.letGo()
    const ran = await strangers.regent('adopt', 'watch', 'shop')
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    expect((await strangers.regent('explain', 'shop')).stdout).toContain('only watched')

    cluster = await strangers.manage({ file: false })
    await cluster.whole()
    const from = await cluster.primary()
    const switched = await cluster.regent('switchover', 'shop')
    expect(switched, switched.stderr).toMatchObject({ code: 0 })
    expect(await cluster.primary()).not.toBe(from)
  })
})
