import { describe, expect, it } from 'vitest'
import { pods, volumeClaims } from '#kube/pods/stateful-set.ts'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

describe.each([
  ['semisync', 'again'],
  ['group', 'gathers-again'],
] as const)('In mode %s', (mode, name) => {
  const again = withKubeCluster({ name, spec: { mode } })

  it('a cluster is deleted, its volumes and passwords stay, and one of the same name has all its data', async () => {
    const cluster = again.current
    const { namespace } = cluster
    const writer = await Writer.start(cluster)
    const login = await cluster.login('client')
    await cluster.regent('switchover', cluster.name)
    await cluster.whole()
    await writer.stop()
    await cluster.kubectl('delete', 'mysql', cluster.name, '--timeout', '60s')
    await cluster.until(
      () => 'its pods are gone',
      async () => (await cluster.client.list(pods, { namespace })).items.length === 0,
      180_000,
    )
    expect((await cluster.client.list(volumeClaims, { namespace })).items).toHaveLength(3)
    await cluster.ensure()
    await cluster.whole(3, 180_000)
    expect(await cluster.login('client')).toEqual(login)
    await expectNothingLost(writer)
  })

  it('the namespace goes with everything in it, and nothing hangs on a finalizer', async () => {
    const { namespace } = again.current
    await again.current.kubectl('delete', 'namespace', namespace, '--timeout', '150s')
  })
})
