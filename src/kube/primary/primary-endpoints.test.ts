import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { endpointSlices, PrimaryEndpoints } from './primary-endpoints.ts'

/** What the record says when it is read. */
let committed: number | undefined
const of = {
  cluster: 'shop',
  namespace: 'shops',
  owner: { apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLCluster', name: 'shop', uid: 'u1', controller: true },
  committedEpoch: async () => committed,
}
const key = { namespace: 'shops', name: 'shop-primary' }
const route = (epoch: number, ordinal: number): PrimaryRoute => ({
  epoch,
  instance: `shop-${ordinal}`,
  host: `10.0.0.${ordinal + 1}`,
  port: 3306,
})

let server: FakeApiServer
let client: ReturnType<typeof createKubeClient>
beforeEach(async () => {
  committed = undefined
  server = await FakeApiServer.start()
  client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
})
afterEach(async () => {
  await client.close()
  await server[Symbol.asyncDispose]()
})

describe('the primary’s endpoints', () => {
  it('are none before the first primary, and then that of the Service', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    expect(await endpoints.published()).toBeUndefined()
    expect(await endpoints.publish(route(1, 0))).toBe(true)
    expect(await endpoints.published()).toEqual(route(1, 0))
    expect((await client.get(endpointSlices, key))?.metadata).toMatchObject({
      labels: { 'kubernetes.io/service-name': 'shop-primary', 'regent.dev/cluster': 'shop' },
      ownerReferences: [of.owner],
    })
  })

  it('move in a single write', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(1, 0))
    const before = server.requests.length
    expect(await endpoints.publish(route(2, 1))).toBe(true)
    expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['PUT'])
    expect((await client.get(endpointSlices, key))?.endpoints).toMatchObject([{ addresses: ['10.0.0.2'] }])
  })

  it('are not written again where they say so already', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(1, 0))
    const before = server.requests.length
    expect(await endpoints.publish(route(1, 0))).toBe(true)
    expect(server.requests).toHaveLength(before)
  })

  it('follow the pod of the same epoch to another address', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(1, 0))
    expect(await endpoints.publish({ ...route(1, 0), host: '10.0.9.9' })).toBe(true)
    expect((await endpoints.published())?.host).toBe('10.0.9.9')
  })

  it('are given up for this time where each write meets another one: to try at once would never end', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(1, 0))
    const found = await client.get(endpointSlices, key)
    if (found === undefined) throw new Error('nothing was published')
    const old = { ...found, metadata: { ...found.metadata, resourceVersion: '1' } }
    const conflict: unknown = await client.update(endpointSlices, old).catch((error: unknown) => error)
    let writes = 0
    const busy = Object.assign(Object.create(client) as typeof client, {
      update: () => {
        writes += 1
        // What would go on for ever ends the test.
        return Promise.reject(writes > 20 ? new Error('still trying') : (conflict as Error))
      },
    })
    await expect(new PrimaryEndpoints(busy, of).publish(route(2, 1))).rejects.toThrow(
      /others changed EndpointSlice shops\/shop-primary again and again/,
    )
    expect(writes).toBe(5)
  })

  it('are written in the end, however many managers write of an epoch before that one meanwhile', async () => {
    const earlier = new PrimaryEndpoints(client, of)
    await earlier.publish(route(1, 0))
    let epoch = 1
    const overtaken = Object.assign(Object.create(client) as typeof client, {
      update: async (...write: Parameters<typeof client.update>) => {
        if (epoch < 11) await earlier.publish(route((epoch += 1), 0))
        return client.update(...write)
      },
    })
    expect(await new PrimaryEndpoints(overtaken, of).publish(route(12, 1))).toBe(true)
    expect(await earlier.published()).toEqual(route(12, 1))
  })

  it('are not taken back by a manager that knows an older epoch, even if it saw nothing newer', async () => {
    const [old, now] = [new PrimaryEndpoints(client, of), new PrimaryEndpoints(client, of)]
    await old.publish(route(1, 0))
    await now.publish(route(2, 1))
    expect(await old.publish(route(1, 2))).toBe(false)
    expect(await now.published()).toEqual(route(2, 1))
  })

  it('are put right where a hand changed them, labels of others kept', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(3, 0))
    await client.patch(endpointSlices, key, {
      metadata: { labels: { team: 'payments' }, annotations: { 'regent.dev/epoch': 'none' } },
      endpoints: [],
    })
    expect(await endpoints.publish(route(3, 1))).toBe(true)
    expect(await endpoints.published()).toEqual(route(3, 1))
    expect((await client.get(endpointSlices, key))?.metadata.labels).toMatchObject({ team: 'payments' })
  })
})

describe('endpoints that say the right address and lead nobody there', () => {
  it.each([
    ['without the label of their Service', { metadata: { labels: { 'kubernetes.io/service-name': null } } }],
    ['without Regent’s label', { metadata: { labels: { 'app.kubernetes.io/managed-by': 'me' } } }],
    [
      'as not ready',
      { endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false }, targetRef: { name: 'shop-0' } }] },
    ],
    [
      'with a second port',
      {
        ports: [
          { name: 'mysql', port: 3306, protocol: 'TCP' },
          { name: 'x', port: 1, protocol: 'TCP' },
        ],
      },
    ],
  ])('%s are seen as none, and written again', async (_what, patch) => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(1, 0))
    const before = await client.get(endpointSlices, key)
    await client.patch(endpointSlices, key, patch)
    expect(await endpoints.published()).toBeUndefined()
    expect(await endpoints.publish(route(1, 0))).toBe(true)
    const { resourceVersion: _version, ...metadata } = before?.metadata ?? expect.fail('no slice')
    expect(await client.get(endpointSlices, key)).toMatchObject({ ...before, metadata })
  })
})

describe('endpoints of a forged epoch', () => {
  const forge = (epoch: number) =>
    client.patch(endpointSlices, key, {
      metadata: { annotations: { 'regent.dev/epoch': String(epoch) } },
      endpoints: [{ addresses: ['10.6.6.6'], conditions: {} }],
    })

  it('are put right by who publishes what the record says, and show no epoch above its own until then', async () => {
    const endpoints = new PrimaryEndpoints(client, of)
    await endpoints.publish(route(2, 0))
    committed = 2
    await forge(9)
    expect(await endpoints.published()).toMatchObject({ epoch: 2, host: '10.6.6.6' })
    expect(await endpoints.publish(route(2, 0))).toBe(true)
    expect(await endpoints.published()).toEqual(route(2, 0))
    await forge(9)
    committed = 3
    expect(await endpoints.publish(route(3, 1))).toBe(true)
    expect((await client.get(endpointSlices, key))?.metadata.annotations).toMatchObject({ 'regent.dev/epoch': '3' })
  })

  it('are left alone by who knows an older epoch than the record, and where there is no record', async () => {
    await new PrimaryEndpoints(client, of).publish(route(2, 0))
    await forge(9)
    for (const now of [3, undefined]) {
      committed = now
      expect(await new PrimaryEndpoints(client, of).publish(route(2, 0))).toBe(false)
      expect((await client.get(endpointSlices, key))?.endpoints).toMatchObject([{ addresses: ['10.6.6.6'] }])
    }
  })

  it('do not help a manager that slept after it had read an older record', async () => {
    const now = new PrimaryEndpoints(client, of)
    await now.publish(route(1, 0))
    const asleep = new PrimaryEndpoints(client, of)
    await forge(9)
    committed = 1
    await asleep.published()
    committed = 2
    expect(await now.publish(route(2, 1))).toBe(true)
    expect(await asleep.publish(route(1, 0))).toBe(false)
    expect(await now.published()).toEqual(route(2, 1))
  })

  it('do not help one that slept between reading them and the record either, which is newer then', async () => {
    const asleep = Promise.withResolvers<number>()
    const slow = new PrimaryEndpoints(client, { ...of, committedEpoch: () => asleep.promise })
    const now = new PrimaryEndpoints(client, of)
    await now.publish(route(1, 0))
    await forge(9)
    const late = slow.publish(route(1, 0))
    committed = 2
    expect(await now.publish(route(2, 1))).toBe(true)
    asleep.resolve(2)
    expect(await late).toBe(false)
    expect(await now.published()).toEqual(route(2, 1))
  })
})
