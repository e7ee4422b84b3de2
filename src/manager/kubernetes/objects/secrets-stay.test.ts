import { expect, it, onTestFinished } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { secrets, secretsOf } from '#kube/secrets/secrets.ts'
import { aCluster } from '#kube/testing.ts'
import { applySecrets } from './cluster-objects.ts'

it('Passwords of a cluster whose volumes are to stay lose their owner, and no other: they would go with the cluster', async () => {
  const server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  onTestFinished(async () => (await client.close(), server[Symbol.asyncDispose]()))
  const signal = new AbortController().signal
  const owned = aCluster({ volumes: { whenDeleted: 'Delete' } })
  const [internal] = secretsOf(owned, new Map(), realWorld.random)
  const { metadata } = internal ?? expect.fail('no Secret')
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'of-somebody', uid: 'other' }
  const made = await client.create(secrets, {
    ...(internal ?? expect.fail('no Secret')),
    metadata: { ...metadata, ownerReferences: [...(metadata.ownerReferences ?? []), other] },
  })
  const parts = { client, world: realWorld, yields: false }
  const owners = async () => {
    const found = await client.get(secrets, { namespace: 'shops', name: 'shop-internal' })
    return found?.metadata.ownerReferences?.map(({ name }) => name)
  }
  expect(await owners()).toEqual(['shop', 'of-somebody'])
  await applySecrets(parts, aCluster({ volumes: { whenDeleted: 'Retain' } }), { internal: made, signal })
  expect(await owners()).toEqual(['of-somebody'])
})
