import { afterAll, expect, it } from 'vitest'
import { pods } from '#kube/pods/stateful-set.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { namesOf } from '#kube/names/names.ts'
import { mysqlPort } from '#kube/objects/services.ts'
import { patienceMs } from '../support/patience.ts'
import { openSession, queryWithin } from '../support/sql-session.ts'
import { Writer } from '../support/writer.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

afterAll(() => demo.current.change({ services: { replicas: { reads: null } } }))

/** The instances that Service `<cluster>-replicas` leads to, in order. */
async function readers({ client, namespace, name }: KubeCluster): Promise<readonly string[]> {
  const labelSelector = `kubernetes.io/service-name=${namesOf(name).replicas}`
  const { items } = await client.list(endpointSlices, { namespace, labelSelector })
  return items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions.ready)
    .map(({ targetRef }) => targetRef?.name ?? '')
    .toSorted()
}

async function readBy(cluster: KubeCluster, wanted: readonly string[]): Promise<void> {
  let now: readonly string[] = []
  await cluster.until(
    () => `reads go to ${wanted.join(', ')}; now to ${now.join(', ')}`,
    async () => (now = await readers(cluster)).join() === wanted.toSorted().join(),
    120_000,
  )
}

/** A session that keeps the applier of a replica waiting. */
async function holdUp(cluster: KubeCluster, instance: string) {
  const host = found((await cluster.pod(instance)).status?.podIP, 'an address')
  const ssl = { rejectUnauthorized: false }
  const session = await openSession({ host, port: mysqlPort, ssl, ...(await cluster.login('admin')) }, patienceMs)
  await queryWithin(session, 'flush tables app.late with read lock', patienceMs)
  return session
}

it('A replica that is late is left out of the Service for reads until it is not, and the primary stands in for all', async () => {
  const cluster = demo.current
  await cluster.change({ services: { replicas: { reads: { maxLagMs: 2_000 } } } })
  const writer = await Writer.start(cluster, { table: 'late' })
  const [primary, [one = '', other = '']] = [await cluster.primary(), await cluster.replicas()]
  await readBy(cluster, [one, other])
  const first = await holdUp(cluster, one)
  await readBy(cluster, [other])
  const second = await holdUp(cluster, other)
  await readBy(cluster, [primary])
  await cluster.change({ services: { replicas: { reads: { fallback: 'none' } } } })
  await readBy(cluster, [])
  for (const session of [first, second]) session.destroy()
  await readBy(cluster, [one, other])
  const labelled = await cluster.client.list(pods, {
    namespace: cluster.namespace,
    labelSelector: `regent.dev/cluster=${cluster.name},regent.dev/reads=open`,
  })
  expect(labelled.items.map(({ metadata }) => metadata.name).toSorted()).toEqual([one, other].toSorted())
  await cluster.whole()
  await expectNothingLost(writer)
})
