import { describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { runEpisode } from '#test/support/episode.ts'
import { archivesOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { patienceMs } from '#test/support/patience.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const automatic = { failovers: 16, windowMs: 1_000 }

/**
 * A hundred writes that clients heard OK for are on the primary's volume alone, and then the primary ends. Paused, the
 * cluster does nothing before the replicas' agents answer again.
 */
async function endWithTail(cluster: TestCluster, writer: Writer, fault: 'kill' | 'kill-mysqld'): Promise<number> {
  const from = await cluster.primary()
  expect(await cluster.regent('pause', 'shop')).toMatchObject({ code: 0 })
  const deafeningMs = monotonicMs()
  const deaf = await deafenReplicas(cluster)
  const deafMs = monotonicMs()
  await cluster.until('a hundred writes that nobody received', async () => writer.begunSince(deafMs).length > 100)
  await cluster.fault(from, fault)
  await deaf.end()
  await cluster.waitFor('the replicas are heard again', ({ instances }) =>
    instances.every(({ name, reachable, process }) => name === from || (reachable && process === 'running')),
  )
  return deafeningMs
}

describe('In mode async', () => {
  const shop = withCluster({ spec: { mode: 'async', failover: { automatic: true, budget: automatic } } })

  it('no write waits, and a primary whose mysqld is killed is replaced without a loss', async () => {
    const cluster = shop.current
    expect(await cluster.whole()).toMatchObject({ acks: 0 })
    const writer = await Writer.start(cluster)
    const episode = await runEpisode(cluster, writer, 'kill')
    expect(episode.to).not.toBe(episode.from)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('what only the volume of the dead primary has is fetched from there before another one leads', async () => {
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'tail' })
    await endWithTail(cluster, writer, 'kill-mysqld')
    const resumedMs = monotonicMs()
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    await writer.next(resumedMs)
    const whole = await cluster.whole()
    expect(whole.primary).not.toBe(primary)
    expect(whole.epoch).toBeGreaterThan(epoch)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    const [recovery] = await cluster.recoveries()
    expect(recovery).toMatchObject({ kind: 'failover', outcome: 'succeeded' })
    const steps = recovery?.timeline.map(({ what }) => what) ?? []
    expect(steps).toEqual(expect.arrayContaining([expect.stringMatching(/^fetch shop-\d: [\d.]+ ms/)]))
  })

  it('a primary that is gone with its agent is not replaced: its agent is awaited, and nothing is lost', async () => {
    const cluster = shop.current
    const { primary } = await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'gone' })
    await endWithTail(cluster, writer, 'kill')
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    const declined = await cluster.waitFor('it is said who is awaited', ({ sentence }) =>
      /^no automatic failover: .*only its agent knows which writes count; bring back shop-\d/.test(sentence),
    )
    expect(declined).toMatchObject({ primary, writable: false })
    const startedMs = monotonicMs()
    await cluster.fault(String(primary), 'start')
    await writer.next(startedMs)
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('a switchover loses nothing', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster, { table: 'switched' })
    const episode = await runEpisode(cluster, writer, 'switchover')
    expect(episode.to).not.toBe(episode.from)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('it grows and shrinks', async () => {
    const cluster = shop.current
    await cluster.scale(4)
    expect(await cluster.whole(4)).toMatchObject({ acks: 0 })
    await cluster.scale(3)
    expect((await cluster.whole(3)).instances).toHaveLength(3)
  })
})

describe('In mode async, with failover.acceptLoss: always,', () => {
  const shop = withCluster({
    spec: { mode: 'async', failover: { automatic: true, budget: automatic, acceptLoss: 'always' } },
  })

  it('another one leads once the lease has run out; what is lost is told, and archived when the primary is back', async () => {
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    const writer = await Writer.start(cluster)
    const deafeningMs = await endWithTail(cluster, writer, 'kill')
    const alone = new Set(writer.report.acknowledged.filter(({ ackedMs }) => ackedMs > deafeningMs).map(({ id }) => id))
    const resumedMs = monotonicMs()
    expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
    await writer.next(resumedMs)
    const recovery = await cluster.recoveryOf(Number(epoch))
    expect(recovery.timeline.map(({ what }) => what).join('\n')).toMatch(
      /with a loss that failover\.acceptLoss allows: \d+ transactions? heard of shop-\d, and whatever it took in its last \d+ s/,
    )
    await cluster.fault(String(primary), 'start')
    await cluster.whole(3, patienceMs)
    const { lost, ...check } = await writer.check()
    expect(check).toMatchObject({ duplicated: [], differing: [], instances: 3 })
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.filter((id) => !alone.has(id))).toEqual([])
    expect(await archivesOf(cluster, String(primary))).not.toEqual([])
  })
})
