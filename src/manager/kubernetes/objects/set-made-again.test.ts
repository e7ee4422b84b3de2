import { expect, it, onTestFinished } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'
import { aCluster } from '#kube/testing.ts'
import { applyClusterObjects } from './cluster-objects.ts'

it('A set that somebody deleted is made again with all whom the record names: who is to go by a scale-in may be the primary', async () => {
  const server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  onTestFinished(async () => (await client.close(), server[Symbol.asyncDispose]()))
  const key = { namespace: 'shops', name: 'shop' }
  let recorded = 0
  const parts = {
    client,
    world: realWorld,
    images: { mysql: 'mysql:9.7.4', regent: 'regent:1' },
    managerAuthority: () => '',
    managerNamespace: 'regent',
    disabled: new Set<never>(),
    yields: false,
    putRight: () => undefined,
    authorities: new Map<string, never>(),
    recorded: () => Promise.resolve(recorded),
    templates: { keep: () => Promise.resolve(''), forget: () => undefined },
  }
  const apply = () => applyClusterObjects(parts, aCluster({ instances: 2 }), new AbortController().signal)
  const replicas = async () => (await client.get(statefulSets, key))?.spec.replicas
  await apply()
  expect(await replicas()).toBe(2)
  recorded = 3
  await apply()
  expect(await replicas()).toBe(2)
  await client.delete(statefulSets, key)
  await apply()
  expect(await replicas()).toBe(3)
})
