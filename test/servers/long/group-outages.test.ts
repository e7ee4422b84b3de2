import { describe, expect, it } from 'vitest'
import { loseVolume } from '#test/support/lost-volume.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { putBack, takeSnapshot } from '#test/support/volume-snapshot.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 120_000
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

/** Servers and agents of everybody, at once. */
async function everybodyDies(): Promise<void> {
  const cluster = shop.current
  await Promise.all(all.map((name) => cluster.fault(name, 'kill')))
  await cluster.waitFor('nobody takes writes', ({ writable }) => !writable)
}

describe('After the loss of every server and agent the group is formed anew once the last of them is there', () => {
  it.each([
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ])(
    'started in the order %i, %i, %i',
    async (...order) => {
      const cluster = shop.current
      const { epoch, primary } = await cluster.whole(3, wholeMs)
      const writer = await Writer.start(cluster)
      await writer.next()
      await everybodyDies()
      const names = order.map((at) => `shop-${at}`)
      const last = names.at(-1)!
      for (const name of names.slice(0, 2)) await cluster.fault(name, 'start')
      const waiting = await cluster.waitFor(
        `${last} alone is waited for`,
        ({ blocked, sentence }) => blocked && sentence.includes(`The last writes may be on ${last} alone`),
        60_000,
      )
      expect(waiting.epoch).toBe(epoch)
      expect(waiting.writable).not.toBe(true)
      const atMs = await cluster.fault(last, 'start')
      const { ackedMs } = await writer.next(atMs, { deadlineMs: 60_000 })
      console.log(`started ${names.join(', ')} (${primary} led): first write after ${Math.round(ackedMs - atMs)} ms`)
      expect((await cluster.whole(3, wholeMs)).epoch).toBe(epoch + 1)
      expect(await writer.check()).toMatchObject(nothingLost)
    },
    240_000,
  )
})

describe('After the loss of every server, and of one volume,', () => {
  it.each(['a secondary', 'the primary'])(
    'that of %s, a person is asked: what only that volume may have held is given up, and its instance comes back as a copy',
    async (whose) => {
      const cluster = shop.current
      const { epoch, primary } = await cluster.whole(3, wholeMs)
      const lost = whose === 'the primary' ? primary! : (await cluster.replicas())[0]!
      const writer = await Writer.start(cluster)
      await writer.next()
      // Everything is at the others, and on their disks.
      await writer.stop()
      await everybodyDies()
      await loseVolume(cluster, lost)
      for (const name of all) await cluster.fault(name, 'start')
      const { sentence } = await cluster.waitFor(
        'its member is missed',
        (view) => view.blocked && view.sentence.includes(`The last writes may be on ${lost} alone`),
        60_000,
      )
      expect(sentence).toContain('regent failover --accept-loss')
      const dry = await cluster.regent('failover', '--accept-loss', '--dry-run')
      expect(dry.stdout).toContain(`what only ${lost} may hold would be given up`)
      const atMs = monotonicMs()
      expect(await cluster.regent('failover', '--accept-loss')).toMatchObject({ code: 0 })
      const view = await cluster.whole(3, wholeMs)
      console.log(`volume of ${whose} lost: whole again ${Math.round(monotonicMs() - atMs)} ms after a person decided`)
      expect(view.epoch).toBe(epoch + 1)
      expect(view.primary).not.toBe(lost)
      expect(await writer.check()).toMatchObject(nothingLost)
    },
    300_000,
  )
})

it('After the loss of every server alone the group is formed anew by itself', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  await Promise.all(all.map((name) => cluster.fault(name, 'kill-mysqld')))
  await cluster.waitFor('the outage is seen', ({ writable }) => !writable, 10_000)
  // The group may elect once more while its servers die one after the other.
  expect((await cluster.whole(3, wholeMs)).epoch).toBeGreaterThan(epoch)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('After the loss of every server, with a volume put back from before, a person is told so and what to do, and that one command heals the cluster', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole(3, wholeMs)
  const [past = ''] = (await cluster.replicas()).filter((name) => name !== primary)
  await takeSnapshot(cluster, past)
  // The copy of a volume keeps the disk busy: members that stand still for it are removed, and the epoch may rise.
  const { epoch } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  await writer.next()
  await writer.stop()
  await everybodyDies()
  await putBack(cluster, past)
  for (const name of all) await cluster.fault(name, 'start')
  const { sentence } = await cluster.waitFor(
    'it is said what happened, once all others are heard',
    (view) =>
      view.blocked &&
      view.sentence.includes(`${past} may have held the last writes`) &&
      !view.sentence.includes('The last writes may be on'),
    60_000,
  )
  expect(sentence).toContain('its volume went back in time: put the newer volume back')
  const [command = ''] = /regent failover --accept-loss/.exec(sentence) ?? []
  expect(await cluster.regent(...command.split(' ').slice(1))).toMatchObject({ code: 0 })
  const view = await cluster.whole(3, wholeMs)
  expect(view.epoch).toBe(epoch + 1)
  expect(view.primary).not.toBe(past)
  expect(await writer.check()).toMatchObject(nothingLost)
}, 300_000)
