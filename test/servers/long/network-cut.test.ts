import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { here, Namespaces } from '#test/support/namespaces.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const instances = ['shop-0', 'shop-1', 'shop-2']
const scratch = await mkdtemp(join(tmpdir(), 'regent-network-'))
const hosts = join(scratch, 'hosts.yaml')
const whyNot = await Namespaces.whyNot()
if (whyNot !== undefined) console.warn(`network-cut.test.ts is skipped: ${whyNot}`)
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe.skipIf(whyNot !== undefined)('On a network that is cut', () => {
  let made: Namespaces | undefined
  beforeAll(async () => {
    made = await Namespaces.create([...instances, 'client'])
    const list = instances.map((name) => ({ address: made?.address(name), wrapper: made?.wrapper(name) }))
    await writeFile(hosts, stringify(list))
  })
  // Registered before the cluster's own, so that it runs after it.
  afterAll(() => made?.remove())
  const shop = withCluster({ flags: ['--hosts', hosts] })

  const network = (): Namespaces => {
    if (made === undefined) throw new Error('the network is not there')
    return made
  }
  /** A client on a machine that nothing is cut off from but what a test names. */
  const client = (cluster: TestCluster) => Writer.start(cluster, { wrapper: network().wrapper('client') })

  it('a primary that is cut off from everybody is replaced, acknowledges nothing any more, closes itself when its lease runs out, and comes back as a replica', async () => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    const log = (await logOf(cluster, from)).length
    const beside = { pinnedTo: from, wrapper: network().wrapper(from) }
    const outside = await client(cluster)
    const patient = await Writer.start(cluster, { ...beside, table: 'patient', attemptMs: 20_000 })
    const stubborn = await Writer.start(cluster, { ...beside, table: 'stubborn', attemptMs: 100, everyMs: 2 })
    const cutMs = monotonicMs()
    await network().isolate(from)
    const silentMs = monotonicMs()
    expectBelow(8_000, await outside.outageSince(cutMs))
    expect(await cluster.primary()).not.toBe(from)
    await cluster.until(
      'the old primary closes itself',
      async () => /this primary closes itself/.test((await logOf(cluster, from)).slice(log)),
      12_000,
    )
    expect(monotonicMs() - cutMs).toBeGreaterThan(4_000)
    await cluster.until(
      'its clients are turned away',
      async () => ['ECONNREFUSED', 'ER_SERVER_OFFLINE_MODE'].some((code) => code in stubborn.report.errors),
      5_000,
    )
    await network().mend()
    await cluster.whole()
    for (const inside of [patient, stubborn]) {
      expect(inside.count).toBeGreaterThan(0)
      expect(inside.begunSince(silentMs)).toEqual([])
    }
    for (const each of [outside, patient, stubborn])
      expect(await each.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('a primary that hears its replicas no more, while they hear it, gives way to one that holds what waits', async () => {
    const cluster = shop.current
    const { epoch } = await cluster.whole()
    const from = await cluster.primary()
    const writer = await client(cluster)
    const cutMs = monotonicMs()
    for (const replica of await cluster.replicas()) await network().cutWay(replica, from)
    await writer.outageSince(cutMs, 60_000)
    expect(await cluster.primary()).not.toBe(from)
    expect(await cluster.recoveryOf(Number(epoch))).toMatchObject({ kind: 'failover', outcome: 'succeeded' })
    await network().mend()
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('a replica that is cut off leaves the sync set in time, writes go on, and it counts again once it is back', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const [replica = ''] = await cluster.replicas()
    const writer = await client(cluster)
    await network().isolate(replica)
    const view = await cluster.waitFor('it has left the sync set', ({ syncSet }) => !syncSet.includes(replica), 10_000)
    expect(view).toMatchObject({ writable: true, primary: before.primary, epoch: before.epoch })
    await writer.next()
    await network().mend()
    await cluster.whole()
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('a manager that reaches no instance suspects itself and does nothing, and the primary stays writable on the word of the other agents', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const writer = await client(cluster)
    await network().isolate(here)
    const view = await cluster.waitFor(
      'it says so',
      ({ sentence }) => sentence.includes('reaches no instance at all and suspects itself'),
      5_000,
    )
    expect(view.blocked).toBe(true)
    // So much longer than any lease that a primary which had closed itself would show.
    await sleep(13_000)
    await network().mend()
    expect(await cluster.whole()).toMatchObject({ primary: before.primary, epoch: before.epoch })
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('a manager that alone does not reach the primary does not fail over, because the replicas still hear it, and says so', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const primary = before.primary ?? ''
    const writer = await client(cluster)
    await network().cut(here, primary)
    const said = new RegExp(`agent of ${primary} is unreachable but .* still hears? its server`)
    await cluster.waitFor('it says so', ({ sentence }) => said.test(sentence), 5_000)
    await sleep(2_500)
    expect(await cluster.view()).toMatchObject({ primary, epoch: before.epoch })
    await cluster.waitFor('it still says so', ({ sentence }) => said.test(sentence), 5_000)
    await network().mend()
    expect(await cluster.whole()).toMatchObject({ primary, epoch: before.epoch })
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
