import { expect, it } from 'vitest'
import { annotations } from '#kube/names/names.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { isOwnCluster, nameImageAnew } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

/**
 * Changes the spec, waits until every pod has been made anew, and expects replicas first, the primary last, and one
 * switchover.
 */
async function update(cluster: KubeCluster, what: string, spec: object): Promise<void> {
  const writer = await Writer.start(cluster)
  await cluster.whole()
  const primary = await cluster.primary()
  const names = [...(await cluster.replicas()), primary]
  const revisionOf = async (name: string) => (await cluster.pod(name)).metadata.annotations?.[annotations.podRevision]
  const before = await revisionOf(primary)
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  const changed = new Set<string>()
  await cluster.change(spec)
  await cluster.until(
    () => `all pods are made anew; so far ${[...changed].join(', ')}`,
    async () => {
      for (const name of names) if ((await revisionOf(name).catch(() => before)) !== before) changed.add(name)
      return changed.size === names.length
    },
    300_000,
  )
  await cluster.whole(3, 180_000)
  expect([...changed].at(-1), 'the last to restart').toBe(primary)
  const recoveries = (await cluster.recoveries()).filter(({ startedWallMs }) => startedWallMs >= wallMs)
  expect(recoveries.map(({ kind, outcome }) => [kind, outcome])).toEqual([['switchover', 'succeeded']])
  expectBelow(5_000, await outageSince(writer, what, atMs))
  await expectNothingLost(writer)
}

it('a changed setting reaches every instance, replicas first, with one switchover', async () => {
  const cluster = demo.current
  const wanted = (await cluster.value(await cluster.primary(), 'select @@max_connections')) === '200' ? '210' : '200'
  await update(cluster, 'rolling update of settings', { settings: { max_connections: wanted } })
  for (const name of [await cluster.primary(), ...(await cluster.replicas())])
    expect(await cluster.value(name, 'select @@max_connections')).toBe(wanted)
})

it.skipIf(!isOwnCluster)('so does a changed image', async () => {
  const cluster = demo.current
  const { image = '' } = (await cluster.resource()).spec
  const another = image.endsWith('-again') ? image.replace(/-again$/, '') : `${image}-again`
  await nameImageAnew(image, another)
  await update(cluster, 'rolling update of the image', { image: another })
})
