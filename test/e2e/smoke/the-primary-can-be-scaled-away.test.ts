import { expect, it } from 'vitest'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { agentContainer } from '#kube/pods/pod-template.ts'
import { pods, volumeClaims } from '#kube/pods/stateful-set.ts'
import { expectNothingLost, outageSince, withKubeCluster } from '../with-kube-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const demo = withKubeCluster()

it('kubectl scale goes from 3 to 5, by copies, and back to 3, with the primary among those that leave', async () => {
  const cluster = demo.current
  await cluster.change({ cloneAboveTransactions: 0 })
  const writer = await Writer.start(cluster)
  await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '5')
  await cluster.whole(5, 180_000)
  for (const added of [3, 4])
    expect(await cluster.kubectl('logs', `${cluster.name}-${added}`, '--container', agentContainer)).toContain(
      `seeded from ${cluster.name}-`,
    )
  await cluster.handOver(`${cluster.name}-4`)
  await cluster.whole(5)
  const atMs = monotonicMs()
  await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '3')
  await cluster.otherPrimary(`${cluster.name}-4`)
  expectBelow(5_000, await outageSince(writer, 'primary scaled away', atMs))
  await cluster.whole(3)
  await cluster.until(
    () => 'three pods',
    async () =>
      (
        await cluster.client.list(pods, {
          namespace: cluster.namespace,
          labelSelector: `regent.dev/cluster=${cluster.name}`,
        })
      ).items.length === 3,
  )
  const claims = (await cluster.client.list(volumeClaims, { namespace: cluster.namespace })).items.map(
    ({ metadata }) => metadata.name,
  )
  for (const gone of [3, 4]) expect(claims).toContain(`data-${cluster.name}-${gone}`)
  await expectNothingLost(writer)
})
