import { expect, it } from 'vitest'
import { runEpisode } from '#test/support/episode.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

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
