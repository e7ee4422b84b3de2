import { expect, it } from 'vitest'
import { volumeClaims } from '#kube/pods/stateful-set.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

async function claimOf({ client, namespace }: KubeCluster, instance: string): Promise<string | undefined> {
  return (await client.get(volumeClaims, { namespace, name: `data-${instance}` }))?.metadata.uid
}

it.each([
  ['Retain', 'stays, and is used again'],
  ['Delete', 'goes, and another one comes with the next instance of that name'],
])('where volumes.whenScaled is %s, the volume of an instance that is scaled away %s', async (whenScaled) => {
  const cluster = demo.current
  const added = `${cluster.name}-3`
  const writer = await Writer.start(cluster)
  try {
    await cluster.change({ volumes: { whenScaled }, instances: 4 })
    await cluster.whole(4, 180_000)
    const first = await claimOf(cluster, added)
    await cluster.change({ instances: 3 })
    await cluster.whole(3)
    if (whenScaled === 'Delete')
      await cluster.until(
        () => `no claim of ${added}`,
        async () => (await claimOf(cluster, added)) === undefined,
      )
    await cluster.change({ instances: 4 })
    await cluster.whole(4, 180_000)
    expect((await claimOf(cluster, added)) === first).toBe(whenScaled === 'Retain')
    expect(first).toBeDefined()
  } finally {
    await cluster.change({ instances: 3, volumes: { whenScaled: 'Delete' } })
    await cluster.whole(3)
    await cluster.until(
      () => `no claim of ${added}`,
      async () => (await claimOf(cluster, added)) === undefined,
    )
    await cluster.change({ volumes: { whenScaled: 'Retain' } })
  }
  await expectNothingLost(writer)
})

it('an instance that is given up comes back with an empty volume, as another member, and counts; a dry run changes nothing', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const [replica = ''] = await cluster.replicas()
  const [claim, uuid] = [await claimOf(cluster, replica), await cluster.value(replica, 'select @@server_uuid')]
  await cluster.regent('replace', replica, '--dry-run')
  expect(await claimOf(cluster, replica)).toBe(claim)
  await cluster.regent('replace', replica)
  await cluster.until(
    () => `another volume of ${replica}`,
    async () => {
      const now = await claimOf(cluster, replica)
      return now !== undefined && now !== claim
    },
    120_000,
  )
  await cluster.whole(3, 180_000)
  expect(await cluster.value(replica, 'select @@server_uuid')).not.toBe(uuid)
  await expectNothingLost(writer)
})

it('the primary is not given up: it is said that another one is to lead first', async () => {
  const cluster = demo.current
  const primary = await cluster.primary()
  const claim = await claimOf(cluster, primary)
  await expect(cluster.regent('replace', primary)).rejects.toThrow(
    /is primary; kubectl regent switchover \S+ -n \S+ first/,
  )
  expect(await claimOf(cluster, primary)).toBe(claim)
})
