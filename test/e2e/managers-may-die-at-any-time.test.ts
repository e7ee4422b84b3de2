import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { namesOf } from '#kube/names/names.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { isManager, isOwnCluster, processOf } from './own-cluster.ts'
import { clusterOfEachMode, expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

describe.each(clusterOfEachMode)('In mode %s', (mode, options) => {
  const demo = withKubeCluster(options)

  // The kubelet starts a container that dies often after a pause: no test begins with a manager that is still dead.
  beforeEach(async () => {
    await demo.current.kubectl('--namespace', 'regent', 'rollout', 'status', 'deployment/regent', '--timeout', '180s')
  }, 200_000)

  it('the leading manager’s pod is deleted by force together with the primary’s mysqld: the other manager leads and replaces the primary', async () => {
    const cluster = demo.current
    const writer = await Writer.start(cluster)
    const [before, leader] = [await cluster.primary(), await cluster.leader()]
    const atMs = monotonicMs()
    await Promise.all([
      cluster.kubectl('--namespace', 'regent', 'delete', 'pod', leader, '--force', '--grace-period', '0'),
      cluster.killMysqld(before),
    ])
    await cluster.until(
      () => 'another leader',
      async () => (await cluster.leader()) !== leader,
    )
    expectBelow(15_000, await outageSince(writer, `${mode}: mysqld and the leading manager killed`, atMs))
    await cluster.whole()
    await expectNothingLost(writer)
  })

  it.skipIf(!isOwnCluster)(
    'the leading manager is frozen for a minute while the primary dies: thawed it finds that it leads no more and changes nothing',
    async () => {
      const cluster = demo.current
      await cluster.whole()
      const writer = await Writer.start(cluster)
      const [before, leader] = [await cluster.primary(), await cluster.leader()]
      const pid = await processOf(leader, isManager)
      const atMs = monotonicMs()
      process.kill(pid, 'SIGSTOP')
      try {
        await cluster.killMysqld(before)
        await cluster.otherPrimary(before)
        expectBelow(15_000, await outageSince(writer, `${mode}: mysqld killed, the leading manager frozen`, atMs))
        await sleep(atMs + 60_000 - monotonicMs())
      } finally {
        // The kubelet may just have lost its patience.
        if ((await processOf(leader, isManager).catch(() => undefined)) === pid) process.kill(pid, 'SIGCONT')
      }
      const primary = await cluster.primary()
      await sleep(10_000)
      expect(await cluster.primary()).toBe(primary)
      await cluster.whole()
      await expectNothingLost(writer)
    },
  )

  it.skipIf(!isOwnCluster).each([0, 30, 60, 120])(
    'the leading manager is killed %i ms into a switchover: that is ended or undone, and writes go on',
    async (intoMs) => {
      const cluster = demo.current
      await cluster.whole()
      const writer = await Writer.start(cluster)
      const pid = await processOfLeader(cluster)
      const revision = await revisionOf(cluster)
      const atMs = monotonicMs()
      const switching = cluster.regent('switchover', cluster.name).catch(() => undefined)
      while ((await revisionOf(cluster)) === revision) await sleep(5)
      await sleep(intoMs)
      process.kill(pid, 'SIGKILL')
      await switching
      expectBelow(
        15_000,
        await outageSince(writer, `${mode}: the leading manager killed in a switchover, after ${intoMs} ms`, atMs),
      )
      await cluster.whole()
      await expectNothingLost(writer)
    },
  )

  it.skipIf(!isOwnCluster)(
    'the leading manager is killed while the primary is scaled away, and the other one ends that',
    async () => {
      const cluster = demo.current
      await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '4')
      await cluster.whole(4, 180_000)
      const last = `${cluster.name}-3`
      await cluster.handOver(last)
      await cluster.whole(4)
      const writer = await Writer.start(cluster)
      const pid = await processOfLeader(cluster)
      await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '3')
      process.kill(pid, 'SIGKILL')
      await cluster.otherPrimary(last)
      await cluster.whole(3, 180_000)
      await expectNothingLost(writer)
    },
  )

  it('the leading manager is deleted by force in the middle of a rolling update, which the other one ends', async () => {
    const cluster = demo.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const wanted = (await cluster.value(await cluster.primary(), 'select @@max_connections')) === '220' ? '230' : '220'
    const [first = ''] = (await cluster.replicas()).toSorted().toReversed()
    const { uid } = (await cluster.pod(first)).metadata
    const atMs = monotonicMs()
    await cluster.change({ settings: { max_connections: wanted } })
    await cluster.until(
      () => `${first} restarts`,
      async () => (await cluster.pod(first)).metadata.uid !== uid,
    )
    await cluster.kubectl(
      '--namespace',
      'regent',
      'delete',
      'pod',
      await cluster.leader(),
      '--force',
      '--grace-period',
      '0',
    )
    await cluster.until(
      () => 'every instance has the new setting',
      async () => {
        const values = await Promise.all(
          [await cluster.primary(), ...(await cluster.replicas())].map((name) =>
            cluster.value(name, 'select @@max_connections'),
          ),
        )
        return values.every((value) => value === wanted)
      },
      300_000,
    )
    await cluster.whole()
    expectBelow(5_000, await outageSince(writer, `${mode}: rolling update, the leading manager killed in it`, atMs))
    await expectNothingLost(writer)
  })
})

/** One that was killed a moment ago leads by its lease for some seconds more, while its container is started again. */
function processOfLeader(cluster: KubeCluster): Promise<number> {
  return cluster.until(
    () => 'a leading manager that runs',
    async () => processOf(await cluster.leader(), isManager),
  )
}

/** Of the record in the API server: a switchover begins with a commit. */
async function revisionOf({ client, namespace, name }: KubeCluster): Promise<string | undefined> {
  return (await client.get(configMaps, { namespace, name: namesOf(name).record }))?.data?.['revision']
}
