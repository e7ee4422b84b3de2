import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '../client/http-kube-client.ts'
import { labelValue } from './indexer.ts'
import { Informer, type InformerHandler } from './informer.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import { timingsFor } from './reflector-timings.ts'
import { FakeApiServer } from '../testing-api-server.ts'
import { configMap } from '../testing-kinds.ts'
import { configMaps, type ConfigMap } from '../objects/config-map.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

const logger = pino({ level: 'silent' })
const kind = 'v1/configmaps'

function noting(heard: string[]): InformerHandler<ConfigMap> {
  return {
    added: ({ metadata }, initial) => void heard.push(`added ${metadata.name}${initial ? ' (initial)' : ''}`),
    updated: (before, after) =>
      void heard.push(
        before === after
          ? `resync ${after.metadata.name}`
          : `updated ${after.metadata.name} ${before.metadata.resourceVersion}→${after.metadata.resourceVersion}`,
      ),
    deleted: ({ metadata }, missed) => void heard.push(`deleted ${metadata.name}${missed ? ' (missed)' : ''}`),
  }
}

describe('on a virtual clock', () => {
  let world: VirtualWorld
  let client: ScriptedClient
  let informer: Informer<ConfigMap>
  let heard: string[]
  const stop = { now: new AbortController() }

  beforeEach(() => {
    world = virtualWorld()
    client = new ScriptedClient()
    heard = []
    stop.now = new AbortController()
    informer = new Informer({
      client,
      resource: configMaps,
      world,
      logger,
      indexes: { app: labelValue('app') },
      resyncMs: 0,
    })
    informer.addHandler(noting(heard))
  })

  afterEach(() => stop.now.abort(new Error('stop')))

  async function run(one = informer): Promise<void> {
    void one.run(stop.now.signal)
    await world.settle()
  }

  function stored(name: string, data: Record<string, string> = {}): ConfigMap {
    return client.state.create(kind, 'prod', {
      ...configMap(name, data, { app: 'shop' }),
      metadata: { name, labels: { app: 'shop' } },
    }) as unknown as ConfigMap
  }

  function changed(object: ConfigMap): ConfigMap {
    return client.state.update(
      { kind, namespace: 'prod', name: object.metadata.name, subresource: undefined },
      structuredClone(object) as never,
    ) as unknown as ConfigMap
  }

  /** The watch breaks and cannot go on from where it was. */
  async function relist(): Promise<void> {
    await world.advance(60_000)
    client.lastWatch.fail(new KubeApiError(say`too old`, { status: 410 }))
    await world.settle()
  }

  test('it has synced when the first list is in and told, not before', async () => {
    stored('a')
    let letThrough = (): void => undefined
    client.before = () => new Promise<void>((resolve) => (letThrough = resolve))
    await run()
    const waited = informer.synced()
    expect([informer.hasSynced(), informer.list(), heard]).toEqual([false, [], []])
    letThrough()
    await waited
    expect([informer.hasSynced(), heard]).toEqual([true, ['added a (initial)']])
  })

  test('waiting for it ends with its signal', async () => {
    client.before = () => new Promise(() => undefined)
    await run()
    const deadline = new AbortController()
    const waited = informer.synced(deadline.signal)
    deadline.abort(new Error('2 minutes'))
    await expect(waited).rejects.toThrow('2 minutes')
  })

  test('handlers hear of changes in their order, and the cache has them already', async () => {
    const a = stored('a')
    await run()
    const cachedThen: (string | undefined)[] = []
    informer.addHandler({
      updated: (_, { metadata }) =>
        void cachedThen.push(informer.get({ namespace: 'prod', name: metadata.name })?.metadata.resourceVersion),
    })
    client.lastWatch.send('ADDED', stored('b'))
    client.lastWatch.send('MODIFIED', changed(a))
    client.lastWatch.send('DELETED', a)
    await world.settle()
    expect(heard).toEqual(['added a (initial)', 'added b', 'updated a 101→103', 'deleted a'])
    expect(cachedThen).toEqual(['103'])
    expect(informer.byIndex('app', 'shop').map(({ metadata }) => metadata.name)).toEqual(['b'])
  })

  test('a handler that comes late hears of all there is, and one that went of nothing', async () => {
    stored('a')
    await run()
    const late: string[] = []
    const takeOff = informer.addHandler(noting(late))
    expect(late).toEqual(['added a (initial)'])
    takeOff()
    client.lastWatch.send('ADDED', stored('b'))
    await world.settle()
    expect(late).toHaveLength(1)
  })

  test('what was deleted while nobody watched is told as deleted when the next list comes', async () => {
    stored('a')
    const b = stored('b')
    await run()
    client.state.delete({ kind, namespace: 'prod', name: 'a', subresource: undefined })
    changed(b)
    stored('c')
    await relist()
    expect(heard.slice(2)).toEqual(['deleted a (missed)', 'updated b 102→104', 'added c'])
    expect(informer.get({ namespace: 'prod', name: 'a' })).toBeUndefined()
  })

  test('a list that tells nothing new is told to nobody', async () => {
    stored('a')
    await run()
    await relist()
    expect([client.lists.length, heard]).toEqual([2, ['added a (initial)']])
  })

  test('an object deleted and made again unseen is another one: deleted, then added', async () => {
    stored('a')
    await run()
    client.state.delete({ kind, namespace: 'prod', name: 'a', subresource: undefined })
    stored('a')
    await relist()
    expect(heard.slice(1)).toEqual(['deleted a (missed)', 'added a'])
  })

  test('a handler that fails keeps neither the others nor the cache from the change', async () => {
    stored('a')
    const other = new Informer({ client, resource: configMaps, world, logger, resyncMs: 0 })
    other.addHandler({
      added: () => {
        throw new Error('mistake')
      },
    })
    other.addHandler(noting(heard))
    await run(other)
    expect([other.hasSynced(), heard, other.list().length]).toEqual([true, ['added a (initial)'], 1])
  })

  test('a resync gives every object again, each 0.9 to 1.1 periods', async () => {
    const resyncing = new Informer({ client, resource: configMaps, world, logger, resyncMs: 100_000 })
    resyncing.addHandler(noting(heard))
    stored('a')
    await run(resyncing)
    await keepAlive(89_000)
    expect(heard).toEqual(['added a (initial)'])
    await keepAlive(22_000)
    expect(heard).toEqual(['added a (initial)', 'resync a'])
    await keepAlive(110_000)
    expect(heard).toHaveLength(3)
  })

  test('of several namespaces each is watched by itself, and a list of one deletes nothing of the others', async () => {
    const both = new Informer({
      client,
      resource: configMaps,
      namespaces: ['prod', 'test'],
      world,
      logger,
      resyncMs: 0,
    })
    both.addHandler(noting(heard))
    stored('a')
    client.state.create(kind, 'test', { metadata: { name: 'b' } })
    client.state.create(kind, 'secret', { metadata: { name: 'c' } })
    client.before = (_, call) => (call === 2 ? world.timers.sleep(5_000) : undefined)
    await run(both)
    expect([both.hasSynced(), heard]).toEqual([false, ['added a (initial)']])
    await world.advance(40_000)
    expect([both.hasSynced(), heard]).toEqual([true, ['added a (initial)', 'added b (initial)']])
    client.state.delete({ kind, namespace: 'test', name: 'b', subresource: undefined })
    client.watches
      .find(({ options }) => options.namespace === 'test')
      ?.fail(new KubeApiError(say`too old`, { status: 410 }))
    await world.settle()
    expect([heard.slice(2), both.list().length]).toEqual([['deleted b (missed)'], 1])
  })

  test('the cache keeps no managed fields', async () => {
    client.state.create(kind, 'prod', { metadata: { name: 'a', managedFields: [{ manager: 'kubectl' }] } as never })
    await run()
    expect(informer.list().map(({ metadata }) => Object.keys(metadata).includes('managedFields'))).toEqual([false])
    expect(informer.list()[0]?.metadata.resourceVersion).toBe('101')
  })

  test('objects from the cache are frozen', async () => {
    stored('a', { key: 'value' })
    await run()
    expect(() => Object.assign(informer.list()[0]?.data ?? {}, { key: 'other' })).toThrow(TypeError)
  })

  async function keepAlive(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      client.lastWatch.bookmark('101')
      await world.advance(Math.min(1_000, left))
    }
  }
})

describe('against an API server on loopback', () => {
  test('the cache ends equal to the server after resets, refusals, garbage, expiry and clean ends', async () => {
    await using server = await FakeApiServer.start()
    const client = createKubeClient({
      connection: server.connection,
      world: realWorld,
      userAgent: 'regent/test',
      throttle: { qps: 0, burst: 0 },
    })
    const timings = {
      ...timingsFor(1),
      pageSize: 2,
      settledMs: 0,
      backoff: { ...timingsFor(1).backoff, firstMs: 5, longestMs: 20 },
    }
    const informer = new Informer({ client, resource: configMaps, world: realWorld, logger, timings })
    const alive = new Map<string, number>()
    const count = ({ metadata }: ConfigMap, by: number): unknown =>
      alive.set(metadata.uid ?? '', (alive.get(metadata.uid ?? '') ?? 0) + by)
    informer.addHandler({ added: (object) => void count(object, 1), deleted: (object) => void count(object, -1) })
    const stop = new AbortController()
    const ended = informer.run(stop.signal)
    const damages = [
      () => server.cutWatches(),
      () => server.endWatches(),
      () => server.writeToWatches('<html>\n'),
      () => (server.state.compact(), server.cutWatches()),
      () => (server.misbehave({ answer: { status: 500 }, times: 3 }), server.cutWatches()),
      () => (server.misbehave({ answer: { status: 403 }, times: 2 }), server.endWatches()),
      () => (server.misbehave({ answer: 'reset', times: 2 }), server.state.compact(), server.cutWatches()),
    ]
    for (let step = 0; step < 70; step++) {
      const name = `map-${step % 6}`
      const exists = server.state.all(kind).some(({ metadata }) => metadata.name === name)
      if (exists) server.state.delete({ kind, namespace: 'prod', name, subresource: undefined })
      else server.state.create(kind, 'prod', { metadata: { name } })
      damages[step % damages.length]?.()
      await realWorld.timers.sleep(step % 5)
    }
    server.recover()
    const versions = (
      objects: readonly { readonly metadata: { readonly name: string; readonly resourceVersion?: string } }[],
    ): readonly string[] => objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort()
    await vi.waitFor(() => expect(versions(informer.list())).toEqual(versions(server.state.all(kind))))
    expect([...alive.values()].filter((times) => times !== 0 && times !== 1)).toEqual([])
    expect([...alive.values()].filter((times) => times === 1)).toHaveLength(informer.list().length)
    stop.abort(new Error('stop'))
    await ended
    await client.close()
  })

  test('a watch that tells nothing any more is given up, and what it hid is seen', async () => {
    await using server = await FakeApiServer.start()
    const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
    const timings = { ...timingsFor(1), idleMs: 200, muteMs: 200, settledMs: 0 }
    const informer = new Informer({ client, resource: configMaps, world: realWorld, logger, timings })
    const stop = new AbortController()
    const ended = informer.run(stop.signal)
    await informer.synced()
    server.deaf = true
    server.state.create(kind, 'prod', { metadata: { name: 'hidden' } })
    await realWorld.timers.sleep(20)
    server.deaf = false
    await vi.waitFor(() => expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['hidden']))
    stop.abort(new Error('stop'))
    await ended
    await client.close()
  })
})
