import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { here, Namespaces } from '#test/support/namespaces.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const instances = ['shop-0', 'shop-1', 'shop-2']
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }
const scratch = await mkdtemp(join(tmpdir(), 'regent-group-network-'))
const hosts = join(scratch, 'hosts.yaml')
const whyNot = await Namespaces.whyNot()
if (whyNot !== undefined) console.warn(`group-network-cut.test.ts is skipped: ${whyNot}`)
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe.skipIf(whyNot !== undefined)('A group on a network that is cut', () => {
  let made: Namespaces | undefined
  beforeAll(async () => {
    made = await Namespaces.create([...instances, 'client'])
    const list = instances.map((name) => ({ address: made?.address(name), wrapper: made?.wrapper(name) }))
    await writeFile(hosts, stringify(list))
  })
  // Registered before the cluster's own, so that it runs after it.
  afterAll(() => made?.remove())
  afterEach(() => made?.mend())
  const shop = withCluster({ flags: ['--hosts', hosts], spec: { mode: 'group', reseed: 'manual' } })

  const network = (): Namespaces => {
    if (made === undefined) throw new Error('the network is not there')
    return made
  }
  /** A client on a machine that nothing is cut off from but what a test names. */
  const client = (cluster: TestCluster) => Writer.start(cluster, { wrapper: network().wrapper('client') })
  /** One that stays at this server, beside it. */
  const clientAt = (cluster: TestCluster, instance: string) =>
    Writer.start(cluster, {
      ...{ pinnedTo: instance, wrapper: network().wrapper(instance), table: instance.replace('-', '_') },
      ...{ attemptMs: 500, everyMs: 5 },
    })
  const isTurnedAway = ({ report: { errors } }: Writer) =>
    ['ECONNREFUSED', 'ER_SERVER_OFFLINE_MODE'].some((code) => code in errors)

  it('expels a primary that is cut off from everybody, which answers no client any more, and takes it back once it is heard again', async () => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    const outside = await client(cluster)
    const beside = await clientAt(cluster, from)
    const cutMs = monotonicMs()
    await network().isolate(from)
    const silentMs = monotonicMs()
    console.log(`    the primary is cut off: the client waited ${Math.round(await outside.outageSince(cutMs))} ms`)
    expect(await cluster.primary()).not.toBe(from)
    await cluster.until('the clients beside it are turned away', async () => isTurnedAway(beside), 20_000)
    await network().mend()
    await cluster.whole()
    expect(beside.count).toBeGreaterThan(0)
    expect(beside.begunSince(silentMs)).toEqual([])
    for (const each of [outside, beside]) expect(await each.check()).toMatchObject(nothingLost)
  })

  it('expels a secondary that is cut off, goes on with the others, and takes it back', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const [secondary = ''] = await cluster.replicas()
    const writer = await client(cluster)
    await network().isolate(secondary)
    const view = await cluster.waitFor('it has left', ({ sentence }) => sentence.includes('is missing'), 30_000)
    expect(view).toMatchObject({ primary: before.primary, epoch: before.epoch })
    await writer.next()
    await network().mend()
    await cluster.whole()
    console.log(`    a secondary is cut off: the client paused ${Math.round(writer.longestPause().pauseMs)} ms`)
    expect(await writer.check()).toMatchObject(nothingLost)
  })

  it('without any majority takes no write and answers no read, and goes on by itself once its members hear each other', async () => {
    const cluster = shop.current
    await cluster.whole()
    const from = await cluster.primary()
    const outside = await client(cluster)
    const beside = await clientAt(cluster, from)
    for (const [at, name] of instances.entries())
      for (const other of instances.slice(at + 1)) await network().cut(name, other)
    const silentMs = monotonicMs()
    await cluster.until('the clients of the primary are turned away', async () => isTurnedAway(beside), 20_000)
    await cluster.waitFor('nothing is writable', ({ writable }) => !writable, 20_000)
    for (const name of instances)
      await expect(cluster.sql(name, 'select 1 from dual', { user: 'client' }), name).rejects.toThrow()
    await network().mend()
    const mendedMs = monotonicMs()
    await outside.next(undefined, { deadlineMs: 60_000 })
    console.log(
      `    nobody heard anybody: writes went on ${Math.round(monotonicMs() - mendedMs)} ms after that was mended`,
    )
    await cluster.whole()
    for (const one of [outside, beside])
      expect(one.begunSince(silentMs).filter(({ ackedMs }) => ackedMs < mendedMs)).toEqual([])
    for (const each of [outside, beside]) expect(await each.check()).toMatchObject(nothingLost)
  })

  it('does not mind a manager that reaches nobody, and that manager does nothing', async () => {
    const cluster = shop.current
    const before = await cluster.whole()
    const writer = await client(cluster)
    await network().isolate(here)
    await sleep(15_000)
    await network().mend()
    expect(await cluster.whole()).toMatchObject({ primary: before.primary, epoch: before.epoch })
    console.log(`    no manager: the client paused ${Math.round(writer.longestPause().pauseMs)} ms`)
    expectBelow(5_000, writer.longestPause().pauseMs)
    expect(await writer.check()).toMatchObject(nothingLost)
  })
})
