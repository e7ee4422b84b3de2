import { expect, it } from 'vitest'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { annotations, labels, namesOf } from '#kube/names/names.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { services } from '#kube/objects/services.ts'
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
  await cluster.until(
    () => `the roles of ${primary} and ${replica}`,
    async () => (await roleOf(primary)) === 'primary' && (await roleOf(replica)) === 'replica',
    30_000,
  )
})

it('an EndpointSlice that somebody led elsewhere leads to the primary again', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const { instance, host } = await cluster.published()
  const slice = namesOf(cluster.name).primary
  const atMs = monotonicMs()
  await cluster.kubectl(
    'patch',
    'endpointslice',
    slice,
    '--type',
    'json',
    '--patch',
    '[{"op":"replace","path":"/endpoints/0/addresses","value":["192.0.2.1"]}]',
  )
  await cluster.until(
    () => `the address of ${instance}`,
    async () => (await cluster.published()).host === host,
    30_000,
  )
  await cluster.kubectl('delete', 'endpointslice', slice)
  await cluster.until(
    () => `the address of ${instance}`,
    async () => (await cluster.published()).host === host,
    30_000,
  )
  await outageSince(writer, 'EndpointSlice changed and deleted by hand', atMs)
  await expectNothingLost(writer)
})

it('a selector on the Service of the primary is gone within seconds, and so are the endpoints that Kubernetes made for it', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const service = namesOf(cluster.name).primary
  const slices = async () => {
    const labelSelector = `kubernetes.io/service-name=${service}`
    const { items } = await cluster.client.list(endpointSlices, { namespace: cluster.namespace, labelSelector })
    return items.map(({ metadata }) => metadata.name)
  }
  const key = { namespace: cluster.namespace, name: service }
  const selector = async () => (await cluster.client.get(services, key))?.spec.selector
  const told = async () =>
    (await cluster.kubectl('get', 'events', '--field-selector', 'reason=PutRight', '-o', 'name')) !== ''
  for (let time = 0; time < 3; time += 1) {
    await cluster.kubectl(
      'patch',
      'service',
      service,
      '--patch',
      JSON.stringify({ spec: { selector: { [labels.cluster]: cluster.name } } }),
    )
    await cluster.until(
      () => 'no selector',
      async () => (await selector()) === undefined,
      10_000,
    )
    // Its controller may write them a moment after the selector is gone.
    await cluster.until(
      () => `one slice: ${service}`,
      async () => (await slices()).join() === service,
      10_000,
    )
  }
  await cluster.until(() => 'an Event that says so', told, 15_000)
  await expectNothingLost(writer)
  expect(await slices()).toEqual([service])
})

it('a pod that somebody took the label of its cluster off is taken up by its set again', async () => {
  const cluster = demo.current
  const [replica = ''] = await cluster.replicas()
  const { metadata: before } = await cluster.pod(replica)
  await cluster.kubectl('label', 'pod', replica, `${labels.cluster}-`)
  const owned = async () => {
    const { metadata } = await cluster.pod(replica)
    return (
      metadata.labels?.[labels.cluster] === cluster.name &&
      metadata.ownerReferences?.some(({ controller }) => controller === true)
    )
  }
  await cluster.until(() => `the label of ${replica}, and its owner`, owned, 15_000)
  expect((await cluster.pod(replica)).metadata.uid).toBe(before.uid)
  await cluster.whole()
})

it('a primary that dies right after the Secret of the authority was deleted is replaced as at any time', async () => {
  const cluster = demo.current
  const before = await cluster.primary()
  const writer = await Writer.start(cluster)
  const key = { namespace: cluster.namespace, name: namesOf(cluster.name).authority }
  const uid = (await cluster.client.get(secrets, key))?.metadata.uid
  await cluster.client.delete(secrets, key)
  const isMadeAnew = async () => {
    const now = await cluster.client.get(secrets, key)
    return now !== undefined && now.metadata.uid !== uid
  }
  await cluster.until(() => `another Secret ${key.name}`, isMadeAnew, 15_000)
  const atMs = monotonicMs()
  await cluster.killMysqld(before)
  // The kubelets bring the new authority after a minute or so.
  expect(await cluster.otherPrimary(before, 20_000)).not.toBe(before)
  await outageSince(writer, 'killed after the authority was deleted', atMs)
  await cluster.whole()
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
  await cluster.until(
    () => 'the published primary',
    async () =>
      (await cluster.client.get(endpointSlices, { namespace: cluster.namespace, name: names.primary })) !== undefined,
    30_000,
  )
  // The new Service has another address.
  await expectNothingLost(await Writer.start(cluster))
})
