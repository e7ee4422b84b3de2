import { expect, it } from 'vitest'
import type { KubeObject, Resource } from '../../src/controller-runtime/objects.ts'
import { annotations, labels, namesOf } from '../../src/kube/names.ts'
import { endpointSlices } from '../../src/kube/primary-endpoints.ts'
import { secrets } from '../../src/kube/secrets.ts'
import { services } from '../../src/kube/services.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

it('role labels that somebody changed or took away come back, also where they claim an epoch that never was', async () => {
  const cluster = demo.current
  const primary = await cluster.primary()
  const [replica = ''] = await cluster.replicas()
  await cluster.kubectl('label', 'pod', replica, `${labels.role}=primary`, '--overwrite')
  await cluster.kubectl('label', 'pod', primary, `${labels.role}-`)
  await cluster.kubectl('annotate', 'pod', primary, replica, `${annotations.epoch}=1000000`, '--overwrite')
  const roleOf = async (name: string) => (await cluster.pod(name)).metadata.labels?.[labels.role]
  await cluster.until(() => `the roles of ${primary} and ${replica}`, async () => (await roleOf(primary)) === 'primary' && (await roleOf(replica)) === 'replica', 30_000)
})

it('an EndpointSlice that somebody led elsewhere leads to the primary again', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const { instance, host } = await cluster.published()
  const slice = namesOf(cluster.name).primary
  const atMs = monotonicMs()
  await cluster.kubectl('patch', 'endpointslice', slice, '--type', 'json', '--patch', '[{"op":"replace","path":"/endpoints/0/addresses","value":["192.0.2.1"]}]')
  await cluster.until(() => `the address of ${instance}`, async () => (await cluster.published()).host === host, 30_000)
  await cluster.kubectl('delete', 'endpointslice', slice)
  await cluster.until(() => `the address of ${instance}`, async () => (await cluster.published()).host === host, 30_000)
  await outageSince(writer, 'EndpointSlice changed and deleted by hand', atMs)
  await expectNothingLost(writer)
})

it('a resource that is edited while a switchover runs: the switchover ends well, and the last edit holds', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const { switchover: was } = (await cluster.resource()).spec
  const edits = async () => {
    for (const graceMs of [50, 60, 70, 80, 90]) await cluster.change({ switchover: { graceMs } })
  }
  await Promise.all([cluster.regent('switchover', cluster.name), edits()])
  expect(await cluster.primary()).not.toBe(before)
  expect((await cluster.resource()).spec.switchover).toEqual({ ...was, graceMs: 90 })
  await cluster.change({ switchover: was })
  await cluster.whole()
  await expectNothingLost(writer)
})

it('a Service that somebody deleted comes back, and so does a Secret, with the password that it had', async () => {
  const cluster = demo.current
  const names = namesOf(cluster.name)
  const comesBack = async <Kind extends KubeObject>(resource: Resource<Kind>, name: string) => {
    const key = { namespace: cluster.namespace, name }
    const before = await cluster.client.get(resource, key)
    await cluster.client.delete(resource, key)
    await cluster.until(
      () => `another ${resource.kind} ${name}`,
      async () => {
        const now = await cluster.client.get(resource, key)
        return now !== undefined && now.metadata.uid !== before?.metadata.uid
      },
      30_000,
    )
  }
  const login = await cluster.login('client')
  await comesBack(secrets, names.client)
  expect(await cluster.login('client')).toEqual(login)
  await comesBack(services, names.replicas)
  await comesBack(services, names.primary)
  await cluster.until(() => 'the published primary', async () => (await cluster.client.get(endpointSlices, { namespace: cluster.namespace, name: names.primary })) !== undefined, 30_000)
  // The new Service has another address.
  await expectNothingLost(await Writer.start(cluster))
})
