import { expect, it, onTestFinished } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { volumeClaims } from '#kube/pods/stateful-set.ts'
import { aCluster } from '#kube/testing.ts'
import { applyClusterObjects } from './cluster-objects.ts'

it('every volume is asked to grow to what the spec says, one that is made later as soon as it is bound', async () => {
  const server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  onTestFinished(async () => (await client.close(), server[Symbol.asyncDispose]()))
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
    recorded: () => Promise.resolve(0),
    templates: { keep: () => Promise.resolve(''), forget: () => undefined },
  }
  await applyClusterObjects(parts, aCluster(), new AbortController().signal)
  const claim = (ordinal: number, storage: string, phase: string) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: `data-shop-${ordinal}`, namespace: 'shops', labels: { 'regent.dev/cluster': 'shop' } },
    spec: { resources: { requests: { storage } } },
    status: { phase },
  })
  for (const one of [claim(0, '20Gi', 'Bound'), claim(1, '1Gi', 'Bound'), claim(2, '1Gi', 'Pending')])
    await client.create(volumeClaims, one)
  const sizes = async () =>
    (await client.list(volumeClaims, { namespace: 'shops' })).items.map(
      ({ spec }) => spec?.resources?.requests?.storage,
    )
  const grown = aCluster({ storage: { size: '10Gi' } })
  await applyClusterObjects(parts, grown, new AbortController().signal)
  expect(await sizes()).toEqual(['20Gi', '10Gi', '1Gi'])
  await client.patch(
    volumeClaims,
    { namespace: 'shops', name: 'data-shop-2' },
    { status: { phase: 'Bound' } },
    { subresource: 'status' },
  )
  await applyClusterObjects(parts, grown, new AbortController().signal)
  expect(await sizes()).toEqual(['20Gi', '10Gi', '10Gi'])
})
