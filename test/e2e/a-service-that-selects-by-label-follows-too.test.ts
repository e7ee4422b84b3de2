import { expect, it } from 'vitest'
import { namesOf } from '#kube/names/names.ts'
import { services } from '#kube/objects/services.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const labelled = withKubeCluster({ name: 'labelled', spec: { services: { routing: 'labels' } } })

it('with routing by labels the Service selects the primary, and switchover and failover move the label that it selects by', async () => {
  const cluster = labelled.current
  const service = await cluster.client.get(services, {
    namespace: cluster.namespace,
    name: namesOf(cluster.name).primary,
  })
  expect(service?.spec.selector).toEqual({ 'regent.dev/cluster': cluster.name, 'regent.dev/role': 'primary' })
  // Kubernetes leads clients to pods that are ready, of which the kubelet hears a moment later.
  await cluster.until(
    () => 'a primary that is published',
    () => cluster.primary(),
  )
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const switchoverMs = monotonicMs()
  await cluster.regent('switchover', cluster.name)
  const second = await cluster.otherPrimary(before)
  expectBelow(10_000, await outageSince(writer, 'switchover, routing by labels', switchoverMs))
  await cluster.whole()
  const killMs = monotonicMs()
  await cluster.killMysqld(second)
  await cluster.otherPrimary(second)
  expectBelow(10_000, await outageSince(writer, 'mysqld killed, routing by labels', killMs))
  await cluster.whole()
  await expectNothingLost(writer)
})
