import { expect, it } from 'vitest'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { run } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

/** Does something to the primary under a writer's load and waits until another one leads and the cluster is whole. */
async function gone(
  what: string,
  most: number,
  act: (cluster: KubeCluster, primary: string) => Promise<unknown>,
  { mayLeadAgain = false } = {},
): Promise<void> {
  const cluster = demo.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const atMs = monotonicMs()
  await act(cluster, before)
  if (!mayLeadAgain) await cluster.otherPrimary(before)
  expectBelow(most, await outageSince(writer, what, atMs))
  await cluster.whole(3, 180_000)
  await expectNothingLost(writer)
}

it('the primary’s mysql container is killed: writes go on at another instance', () =>
  gone('container killed', 5_000, (cluster, primary) => cluster.killContainer(primary)))

it('the primary’s pod is deleted: it hands over first', () =>
  gone('pod deleted', 5_000, (cluster, primary) => cluster.kubectl('delete', 'pod', primary)))

it('the primary’s pod is deleted with no time to end: writes go on at another instance', () =>
  gone('pod deleted with grace 0', 5_000, (cluster, primary) =>
    cluster.kubectl('delete', 'pod', primary, '--grace-period', '0', '--force'),
  ))

it('the primary’s pod is evicted: it hands over first, and no second pod may be evicted meanwhile', () =>
  gone('pod evicted', 5_000, async (cluster, primary) => {
    const [replica = ''] = await cluster.replicas()
    await mayBeEvicted(cluster)
    await evict(cluster, primary)
    await expect(evict(cluster, replica)).rejects.toThrow(/disruption budget/)
  }))

// Where the pod has ended before the failover begins, too few can promise: then the same primary is started again.
it('the primary’s mysqld is killed while the pod of a replica ends: writes go on, and nobody who ends is promoted for long', () =>
  gone(
    'mysqld killed while a replica’s pod ends',
    15_000,
    async (cluster, primary) => {
      const [replica = ''] = await cluster.replicas()
      await Promise.all([cluster.kubectl('delete', 'pod', replica), cluster.killMysqld(primary)])
    },
    { mayLeadAgain: true },
  ))

it('mysqld of the primary is restarted by a person: it hands over first, and its pod stays', async () => {
  const cluster = demo.current
  const primary = await cluster.primary()
  const { metadata } = await cluster.pod(primary)
  await gone('mysqld restarted', 5_000, () => cluster.regent('restart', primary))
  expect((await cluster.pod(primary)).metadata?.uid).toBe(metadata?.uid)
  const told = `performance_schema.error_log where error_code = 'MY-013172'`
  expect(Number(await cluster.value(primary, `select count(*) from ${told}`))).toBeGreaterThan(0)
})

/** Kubernetes counts the pods that are ready in its own time. */
async function mayBeEvicted(cluster: KubeCluster): Promise<void> {
  const allowed = ['get', 'pdb', cluster.name, '--output', 'jsonpath={.status.disruptionsAllowed}']
  await cluster.until(
    () => 'a pod that may be evicted',
    async () => (await cluster.kubectl(...allowed)) === '1',
  )
}

async function evict({ namespace }: KubeCluster, name: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
  await run(
    'kubectl',
    ['create', '--raw', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, '--filename', '-'],
    { input: JSON.stringify(eviction) },
  )
}
