import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'
import { runEpisode } from '#test/support/episode.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { patienceMs } from '#test/support/patience.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import type { SharedCluster } from '#test/support/with-cluster.ts'

/** What fails, on a cluster that has had no failover and that shop-0 leads. */
export function faults(shop: SharedCluster): void {
  it('A replica whose mysqld is killed comes back by itself, and writes never stop for it', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const { pid } = await cluster.instance('shop-1')
    await cluster.fault('shop-1', 'kill-mysqld')
    await cluster.otherMysqld('shop-1', pid)
    await cluster.whole()
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A replica that is gone leaves the sync set and is refused as a candidate, and counts again when it is back; writes pause for a bounded moment at most', async () => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    await cluster.fault('shop-1', 'kill')
    const without = await cluster.waitFor(
      'shop-1 has left the sync set, and what that means is said',
      ({ syncSet, sentence }) =>
        syncSet.length === 1 &&
        !syncSet.includes('shop-1') &&
        sentence.includes('the loss of shop-2 would make writes wait'),
    )
    expect(without).toMatchObject({ writable: true, primary: 'shop-0' })
    await expect(cluster.switchover({ to: 'shop-1' })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('shop-1 is not in the sync set') as string,
    })
    await cluster.fault('shop-1', 'start')
    await cluster.whole()
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('Without any replica writes wait, the manager says for whom, and nothing is acknowledged until one is back', async () => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    await Promise.all(['shop-1', 'shop-2'].map((name) => cluster.fault(name, 'kill')))
    const view = await cluster.waitFor('writes wait', ({ sentence }) => sentence.includes('writes wait'))
    const atMs = monotonicMs()
    expect(view.primary).toBe('shop-0')
    await sleep(1_500)
    expect(writer.since(atMs)).toEqual([])
    await cluster.fault('shop-1', 'start')
    await writer.next()
    await cluster.fault('shop-2', 'start')
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A replica that is too far behind is refused as a candidate, with the number', async () => {
    const cluster = shop.current
    const lock = await cluster.session('shop-2')
    await lock.query('flush tables with read lock')
    const writer = await Writer.start(cluster, { everyMs: 0, table: 'fast' })
    await cluster.until('a thousand writes', async () => writer.count > 1_050, 60_000)
    await writer.stop()
    await cluster.waitFor('the backlog is seen', ({ instances }) =>
      instances.some(({ name, backlog }) => name === 'shop-2' && (backlog ?? 0) > 1_000),
    )
    await expect(cluster.switchover({ to: 'shop-2', dryRun: true })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringMatching(/shop-2 has \d+ transactions to apply/) as string,
    })
    lock.destroy()
    await cluster.until(
      'it has caught up',
      async () => (await cluster.view()).instances.find(({ name }) => name === 'shop-2')?.backlog === 0,
    )
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A primary whose mysqld is killed is replaced, and comes back as a replica by itself; no acknowledged write is lost', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const episode = await runEpisode(cluster, writer, 'kill')
    expect(episode.to).not.toBe(episode.from)
    expectBelow(3_000, episode.outageMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A failover is kept as a recovery: why, from whom to whom, and each step with its milliseconds', async () => {
    const [recovery] = await shop.current.recoveries()
    expect(recovery).toMatchObject({ kind: 'failover', outcome: 'succeeded', fromEpoch: 1, toEpoch: 2 })
    expect(recovery?.analysis).toContain('shop-0 is dead')
    const steps = recovery?.timeline.map(({ what }) => what) ?? []
    expect(steps[0]).toContain('noticed')
    expect(steps).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^promise shop-/),
        expect.stringMatching(/^committed revision \d+, epoch 2/),
        expect.stringMatching(/^route moved to /),
      ]),
    )
    const times = recovery?.timeline.map(({ atMs }) => atMs) ?? []
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  it('The route names the new primary, in the epoch of the record', async () => {
    const cluster = shop.current
    const [{ primary }, view] = [await cluster.status(), await cluster.view()]
    expect(primary).toMatchObject({ instance: view.primary, epoch: view.epoch })
  })

  it('A primary that is gone with its agent is replaced on the word of its replicas and the manager', async () => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    const from = await cluster.primary()
    const atMs = await cluster.fault(from, 'kill')
    expectBelow(10_000, await writer.outageSince(atMs))
    const [recovery] = await cluster.until('the recovery', async () => {
      const all = await cluster.recoveries()
      return all[0]?.from?.startsWith(from) === true && all
    })
    expect(recovery?.sentence).toContain('unreachable')
    await cluster.fault(from, 'start')
    await cluster.whole()
    expect(await cluster.primary()).not.toBe(from)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('A frozen primary is replaced, and acknowledges nothing to anybody after it wakes up', async () => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    const writer = await Writer.start(cluster)
    const patient = await Writer.start(cluster, { table: 'patient', pinnedTo: from, attemptMs: 20_000 })
    const stubborn = await Writer.start(cluster, { table: 'stubborn', pinnedTo: from, attemptMs: 100, everyMs: 2 })
    const frozenMs = await cluster.fault(from, 'freeze-mysqld')
    expectBelow(10_000, await writer.outageSince(frozenMs))
    const promotedMs = monotonicMs()
    // Its own agent may have killed it by now, which is a way of acknowledging nothing.
    await cluster.fault(from, 'thaw-mysqld').catch((error: unknown) => expect(String(error)).toContain('does not run'))
    await sleep(3_000)
    expect(patient.since(promotedMs)).toEqual([])
    expect(stubborn.since(promotedMs)).toEqual([])
    await cluster.whole()
    expect(await cluster.primary()).not.toBe(from)
    expect(stubborn.since(promotedMs)).toEqual([])
    for (const each of [writer, patient, stubborn])
      expect(await each.check()).toMatchObject({ lost: [], duplicated: [], differing: [] })
  })

  it('A primary that freezes for less than a moment stays primary', async () => {
    const cluster = shop.current
    await cluster.whole()
    const before = await cluster.view()
    const { pid } = await cluster.instance(before.primary ?? '')
    // By a process that does nothing else: the one that runs the tests may stand still itself meanwhile.
    const freezes = 'kill -STOP "$0" && sleep 0.3; kill -CONT "$0"'
    expect(await runCommand(['sh', '-c', freezes, String(pid)], { deadlineMs: patienceMs })).toMatchObject({ ok: true })
    await sleep(1_500)
    expect(await cluster.whole()).toMatchObject({ primary: before.primary, epoch: before.epoch })
  })

  it('A primary whose agent and mysqld are both frozen is replaced, and acknowledges nothing after both wake up', async () => {
    const cluster = shop.current
    const from = await cluster.primary()
    const writer = await Writer.start(cluster)
    const stubborn = await Writer.start(cluster, { table: 'stubborn', pinnedTo: from, attemptMs: 100, everyMs: 2 })
    await cluster.fault(from, 'freeze-agent')
    const frozenMs = await cluster.fault(from, 'freeze-mysqld')
    expectBelow(15_000, await writer.outageSince(frozenMs))
    const promotedMs = monotonicMs()
    await cluster.fault(from, 'thaw-mysqld')
    await sleep(1_000)
    await cluster.fault(from, 'thaw-agent')
    await cluster.whole()
    expect(stubborn.since(promotedMs)).toEqual([])
    for (const each of [writer, stubborn])
      expect(await each.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
}
