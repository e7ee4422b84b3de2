import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from './http-kube-client.ts'
import { isAlreadyExists, isConflict, isExpired, isNotFound } from './kube-api-error.ts'
import type { KubeClient, WatchEvent } from './kube-client.ts'
import type { KubeConnection } from '../kube-config/kube-config.ts'
import type { RequestRecord } from './kube-transport.ts'
import type { KubeObject } from '../objects/objects.ts'
import { FakeApiServer } from '../testing-api-server.ts'
import { configMap, widget, widgets } from '../testing-kinds.ts'
import { configMaps, type ConfigMap } from '../objects/config-map.ts'
import { expectBelow } from '#test/support/expect-below.ts'

let server: FakeApiServer
let client: KubeClient & { close(): Promise<void> }
const records: RequestRecord[] = []

function clientOf(connection: KubeConnection): typeof client {
  return createKubeClient({
    connection,
    world: realWorld,
    userAgent: 'regent/test',
    onRequest: (record) => records.push(record),
  })
}

beforeEach(async () => {
  server = await FakeApiServer.start()
  records.length = 0
  client = clientOf(server.connection)
})

afterEach(async () => {
  await client.close()
  await server[Symbol.asyncDispose]()
})

const key = { namespace: 'prod', name: 'shop' }

describe('reading and writing', () => {
  test('an object is created, read, updated and deleted', async () => {
    const made = await client.create(configMaps, configMap('shop', { a: '1' }), { fieldManager: 'regent' })
    expect(await client.get(configMaps, key)).toEqual(made)
    const changed = await client.update(configMaps, { ...made, data: { a: '2' } })
    expect((await client.get(configMaps, key))?.data).toEqual({ a: '2' })
    await client.delete(configMaps, key, { uid: changed.metadata.uid ?? '', propagationPolicy: 'Background' })
    expect(await client.get(configMaps, key)).toBeUndefined()
    expect(server.requests.map(({ method, path, query }) => `${method} ${path} ${query.toString()}`.trim())).toEqual([
      'POST /api/v1/namespaces/prod/configmaps fieldManager=regent',
      'GET /api/v1/namespaces/prod/configmaps/shop',
      'PUT /api/v1/namespaces/prod/configmaps/shop',
      'GET /api/v1/namespaces/prod/configmaps/shop',
      'DELETE /api/v1/namespaces/prod/configmaps/shop',
      'GET /api/v1/namespaces/prod/configmaps/shop',
    ])
    expect(server.requests[4]?.body).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Background',
      preconditions: { uid: made.metadata.uid },
    })
  })

  test('an update with an old version is a conflict, and one that exists already is not', async () => {
    const made = await client.create(configMaps, configMap('shop'))
    await client.update(configMaps, { ...made, data: { a: '1' } })
    const second = await client.update(configMaps, { ...made, data: { a: '2' } }).catch((error: unknown) => error)
    expect(isConflict(second)).toBe(true)
    const again = await client.create(configMaps, configMap('shop')).catch((error: unknown) => error)
    expect([isAlreadyExists(again), isConflict(again)]).toEqual([true, false])
  })

  test('deleting another object of the same name is a conflict', async () => {
    await client.create(configMaps, configMap('shop'))
    const error = await client
      .delete(configMaps, key, { uid: 'uid-of-the-one-before' })
      .catch((reason: unknown) => reason)
    expect(isConflict(error)).toBe(true)
    expect(await client.get(configMaps, key)).toBeDefined()
  })

  test('status is written beside the rest', async () => {
    const made = await client.create(widgets, widget('shop', { size: 3 }))
    const after = await client.update(
      widgets,
      { ...made, spec: { size: 9 }, status: { ready: true } },
      { subresource: 'status' },
    )
    expect([after.spec, after.status]).toEqual([{ size: 3 }, { ready: true }])
  })

  test('server-side apply names its manager and its content type', async () => {
    await client.apply(widgets, widget('shop', { size: 3 }), { fieldManager: 'regent', force: true })
    const [request] = server.requests
    expect([
      request?.method,
      request?.headers['content-type'],
      request?.query.get('fieldManager'),
      request?.query.get('force'),
    ]).toEqual(['PATCH', 'application/apply-patch+yaml', 'regent', 'true'])
  })

  test('a list of operations is a JSON patch, an object a merge patch', async () => {
    await client.create(widgets, widget('shop', { size: 3, colour: 'red' }))
    expect((await client.patch(widgets, key, { spec: { colour: null } })).spec).toEqual({ size: 3 })
    expect((await client.patch(widgets, key, [{ op: 'replace', path: '/spec/size', value: 4 }])).spec).toEqual({
      size: 4,
    })
    expect(server.requests.slice(1).map(({ headers }) => headers['content-type'])).toEqual([
      'application/merge-patch+json',
      'application/json-patch+json',
    ])
  })

  test('a write without a name or namespace never leaves this process', async () => {
    for (const wrong of [
      { namespace: 'prod', name: '' },
      { namespace: '', name: 'shop' },
    ])
      await expect(client.delete(configMaps, wrong)).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    const homeless = { ...configMap('shop'), metadata: { name: 'shop' } }
    for (const write of [
      client.create(configMaps, homeless),
      client.update(configMaps, homeless),
      client.apply(configMaps, homeless, { fieldManager: 'regent' }),
    ])
      await expect(write).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    expect(server.requests).toEqual([])
  })
})

describe('lists', () => {
  test('come in pages, and objects in them say their kind', async () => {
    for (const name of ['a', 'b', 'c'])
      await client.create(configMaps, configMap(name, {}, { app: name === 'b' ? 'other' : 'shop' }))
    const first = await client.list(configMaps, { namespace: 'prod', limit: 2 })
    const second = await client.list(configMaps, { namespace: 'prod', limit: 2, continue: first.continue ?? '' })
    expect(
      [...first.items, ...second.items].map(
        ({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`,
      ),
    ).toEqual(['v1 ConfigMap a', 'v1 ConfigMap b', 'v1 ConfigMap c'])
    expect(second.continue).toBeUndefined()
    const chosen = await client.list(configMaps, { labelSelector: 'app=shop' })
    expect(chosen.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
    expect(server.requests.at(-1)?.path).toBe('/api/v1/configmaps')
  })

  test('an empty list is no error', async () => {
    expect((await client.list(widgets)).items).toEqual([])
  })

  test('a page that came too late is expired', async () => {
    for (const name of ['a', 'b']) await client.create(configMaps, configMap(name))
    const first = await client.list(configMaps, { limit: 1 })
    server.expirePages()
    expect(
      isExpired(
        await client.list(configMaps, { limit: 1, continue: first.continue ?? '' }).catch((error: unknown) => error),
      ),
    ).toBe(true)
  })
})

describe('watches', () => {
  test('give what happened after their version, and bookmarks, until the server ends them', async () => {
    const made = await client.create(configMaps, configMap('shop', { text: 'größer ✓' }))
    const seen = collect(client.watch(configMaps, { resourceVersion: '100', timeoutSeconds: 300 }))
    await vi.waitUntil(() => server.openWatches === 1)
    await client.update(configMaps, { ...made, data: {} })
    server.bookmark()
    await client.delete(configMaps, key)
    await vi.waitUntil(() => seen.events.length === 4)
    server.endWatches()
    await seen.end
    expect(
      seen.events.map((event) => (event.type === 'BOOKMARK' ? event : `${event.type} ${event.object.metadata.name}`)),
    ).toEqual(['ADDED shop', 'MODIFIED shop', { type: 'BOOKMARK', resourceVersion: '102' }, 'DELETED shop'])
    const query = server.requests.find(({ query: asked }) => asked.has('watch'))?.query
    expect([query?.get('allowWatchBookmarks'), query?.get('timeoutSeconds'), query?.get('resourceVersion')]).toEqual([
      'true',
      '300',
      '100',
    ])
  })

  test('a version that is forgotten ends them as expired', async () => {
    await client.create(configMaps, configMap('shop'))
    server.state.compact()
    expect(
      isExpired(await collect(client.watch(configMaps, { resourceVersion: '100', timeoutSeconds: 300 })).failure),
    ).toBe(true)
  })

  test('a cut connection, a garbage line and half an event are errors, never a quiet end', async () => {
    const damages = [
      () => server.cutWatches(),
      () => server.writeToWatches('<html>\n'),
      () => (server.writeToWatches('{"type":"ADDED","obj'), server.endWatches()),
    ]
    for (const damage of damages) {
      const seen = collect(client.watch(configMaps, { resourceVersion: server.state.version, timeoutSeconds: 300 }))
      await vi.waitUntil(() => server.openWatches === 1)
      damage()
      expect(await seen.failure).toBeInstanceOf(RegentError)
      await vi.waitUntil(() => server.openWatches === 0)
    }
  })

  test('a refused watch says why', async () => {
    server.misbehave({ answer: { status: 403, reason: 'Forbidden' } })
    expect(
      await collect(client.watch(configMaps, { resourceVersion: '1', timeoutSeconds: 300 })).failure,
    ).toMatchObject({ status: 403, reason: 'Forbidden' })
  })

  test('whoever stops reading, or aborts, closes the connection', async () => {
    await client.create(configMaps, configMap('shop'))
    for await (const event of client.watch(configMaps, { resourceVersion: '100', timeoutSeconds: 300 })) {
      expect(event.type).toBe('ADDED')
      break
    }
    await vi.waitUntil(() => server.openWatches === 0)
    const stop = new AbortController()
    const seen = collect(
      client.watch(configMaps, { resourceVersion: server.state.version, timeoutSeconds: 300, signal: stop.signal }),
    )
    await vi.waitUntil(() => server.openWatches === 1)
    stop.abort(new Error('enough'))
    expect(await seen.failure).toMatchObject({ message: 'enough' })
    await vi.waitUntil(() => server.openWatches === 0)
  })
})

describe('when the API server is in trouble', () => {
  test('a 429 is repeated after as long as it asks for', async () => {
    await client.create(configMaps, configMap('shop'))
    server.misbehave({ answer: { status: 429, retryAfterSeconds: 1 } })
    const startedMs = realWorld.clock.monotonicMs()
    expect(await client.get(configMaps, key)).toBeDefined()
    expect(realWorld.clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(990)
  })

  test('a wait longer than the deadline is told instead of waited for', async () => {
    server.misbehave({ answer: { status: 429, retryAfterSeconds: 60 } })
    const startedMs = realWorld.clock.monotonicMs()
    await expect(client.get(configMaps, key, { deadlineMs: 5_000 })).rejects.toMatchObject({
      status: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 60_000,
    })
    expectBelow(4_000, realWorld.clock.monotonicMs() - startedMs)
  })

  test('an error without Retry-After is the caller’s to repeat', async () => {
    server.misbehave({ answer: { status: 500 } })
    await expect(client.get(configMaps, key)).rejects.toMatchObject({
      code: 'REGENT_KUBE_API',
      status: 500,
      reason: 'InternalError',
    })
    expect(server.requests).toHaveLength(1)
  })

  test('silence ends at the deadline, and an aborted signal at once', async () => {
    server.misbehave({ answer: 'silence', times: 2 })
    await expect(client.get(configMaps, key, { deadlineMs: 100 })).rejects.toMatchObject({
      code: 'REGENT_KUBE_UNREACHABLE',
      message: expect.stringContaining('100 ms') as string,
    })
    const stop = new AbortController()
    const asked = client.get(configMaps, key, { signal: stop.signal })
    await vi.waitUntil(() => server.requests.length === 2)
    stop.abort(new Error('stopping'))
    await expect(asked).rejects.toThrow('stopping')
  })

  test('a server that takes connections and says nothing, as a frozen one does, does not outlive the deadline', async () => {
    const mute = createServer().listen(0, '127.0.0.1')
    await once(mute, 'listening')
    await using other = disposable(
      clientOf({ ...server.connection, server: `https://127.0.0.1:${(mute.address() as AddressInfo).port}` }),
    )
    const startedMs = realWorld.clock.monotonicMs()
    await expect(other.get(configMaps, key, { deadlineMs: 100 })).rejects.toMatchObject({
      code: 'REGENT_KUBE_UNREACHABLE',
      message: expect.stringContaining('100 ms') as string,
    })
    expectBelow(5_000, realWorld.clock.monotonicMs() - startedMs)
    mute.close()
  })

  test('a credential plugin that hangs does not outlive the deadline', async () => {
    await using other = disposable(clientOf({ ...server.connection, credentials: () => new Promise(() => undefined) }))
    await expect(other.get(configMaps, key, { deadlineMs: 100 })).rejects.toMatchObject({
      code: 'REGENT_KUBE_UNREACHABLE',
    })
  })

  test('a reading whose kept connection was closed is sent again; a write is not', async () => {
    await client.create(configMaps, configMap('shop'))
    server.misbehave({ answer: 'reset' })
    expect(await client.get(configMaps, key)).toBeDefined()
    server.misbehave({ answer: 'reset' })
    await expect(client.patch(configMaps, key, { data: { a: '1' } })).rejects.toMatchObject({
      code: 'REGENT_KUBE_UNREACHABLE',
    })
    expect(server.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(1)
  })

  test('a refused token is read afresh and tried once more', async () => {
    const asked: boolean[] = []
    const connection: KubeConnection = {
      ...server.connection,
      credentials: async (fresh = false) => {
        asked.push(fresh)
        return { headers: { authorization: fresh ? 'Bearer new' : 'Bearer old' }, tls: {} }
      },
    }
    await using other = disposable(clientOf(connection))
    server.misbehave({
      when: ({ headers }) => headers.authorization === 'Bearer old',
      times: 9,
      answer: { status: 401 },
    })
    expect(await other.get(configMaps, key)).toBeUndefined()
    expect(asked).toEqual([false, true])
    server.misbehave({ times: 9, answer: { status: 401 } })
    await expect(other.get(configMaps, key)).rejects.toMatchObject({ status: 401 })
    expect(server.requests).toHaveLength(4)
  })

  test('nobody listening is unreachable', async () => {
    await using other = disposable(clientOf({ ...server.connection, server: 'http://127.0.0.1:1' }))
    await expect(other.list(configMaps)).rejects.toMatchObject({ code: 'REGENT_KUBE_UNREACHABLE' })
  })

  test('a proxy’s page instead of a Status is told by its status', async () => {
    server.misbehave({ answer: { status: 404, page: '<h1>no</h1>' } })
    const error = await client.update(configMaps, configMap('none')).catch((reason: unknown) => reason)
    expect(isNotFound(error)).toBe(true)
    expect(error).toMatchObject({ message: expect.stringContaining('<h1>no</h1>') as string })
    server.misbehave({ answer: { status: 200, page: '<h1>welcome</h1>' } })
    await expect(client.get(configMaps, key)).rejects.toMatchObject({ code: 'REGENT_KUBE_API' })
  })
})

describe('connections', () => {
  test('are few however many requests come at once, and all are answered; watches have theirs besides', async () => {
    await client.create(configMaps, configMap('shop'))
    const stop = new AbortController()
    const watches = Array.from({ length: 40 }, () =>
      collect(
        client.watch(configMaps, { resourceVersion: server.state.version, timeoutSeconds: 300, signal: stop.signal }),
      ),
    )
    await vi.waitUntil(() => server.openWatches === 40)
    const before = server.connections.open
    const found = await Promise.all(Array.from({ length: 400 }, () => client.get(configMaps, key)))
    expect(found.filter((one) => one?.metadata.name === 'shop')).toHaveLength(400)
    expect(server.connections.most - before).toBeLessThanOrEqual(32)
    stop.abort()
    await Promise.all(watches.map(({ failure }) => failure))
  })

  test('of one client do not wait for another’s: what may not queue has a client of its own', async () => {
    await client.create(configMaps, configMap('shop'))
    server.misbehave({ when: ({ path }) => path.endsWith('/held'), times: 100, answer: 'silence' })
    const stop = new AbortController()
    const held = Array.from({ length: 100 }, () =>
      client.get(configMaps, { ...key, name: 'held' }, { signal: stop.signal }).catch((error: unknown) => error),
    )
    await vi.waitUntil(() => server.requests.filter(({ path }) => path.endsWith('/held')).length === 32)
    await using other = disposable(clientOf(server.connection))
    expect(await other.get(configMaps, key, { deadlineMs: 5_000 })).toBeDefined()
    stop.abort()
    await Promise.all(held)
  })
})

test('every request says who asks and is reported', async () => {
  await client.get(configMaps, key)
  expect(server.requests[0]?.headers).toMatchObject({ 'user-agent': 'regent/test', authorization: 'Bearer test' })
  expect(records).toEqual([
    {
      method: 'GET',
      host: new URL(server.connection.server).host,
      code: '404',
      durationMs: expect.any(Number) as number,
      serverMs: expect.any(Number) as number,
    },
  ])
})

interface Collected<Kind extends KubeObject> {
  readonly events: WatchEvent<Kind>[]
  readonly end: Promise<void>
  readonly failure: Promise<unknown>
}

function collect(watch: AsyncIterable<WatchEvent<ConfigMap>>): Collected<ConfigMap> {
  const events: WatchEvent<ConfigMap>[] = []
  const read = async (): Promise<void> => {
    for await (const event of watch) events.push(event)
  }
  const end = read()
  return {
    events,
    end,
    failure: end.then(
      () => undefined,
      (error: unknown) => error,
    ),
  }
}

function disposable(one: typeof client): typeof client & AsyncDisposable {
  return { ...one, [Symbol.asyncDispose]: () => one.close() }
}
