import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { Informer } from '#controller-runtime/informers/informer.ts'
import { isExpired } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { timingsFor, type ReflectorTimings } from '#controller-runtime/informers/reflector-timings.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { adminOf, clientWith } from './clients.ts'
import { onApiServer, onOwnApiServer, type OnApiServer } from './on-api-server.ts'
import { expectBelow } from '../support/expect-below.ts'

const soon = { timeout: 30_000, interval: 20 }

function configMap(
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data }
}

/** An informer's view of the test's namespace, what its handlers were told, and what the API server refused. */
interface Watched {
  readonly informer: Informer<ConfigMap>
  readonly told: string[]
  readonly expired: string[]
  readonly names: () => readonly string[]
}

/** @param gate awaited before each request: closed, the informer is cut off once its watch has ended. */
function watched(
  api: OnApiServer,
  options: {
    timings?: Partial<ReflectorTimings>
    selector?: string
    gate?: () => Promise<void>
    afterList?: () => Promise<void>
  } = {},
): Watched {
  const admin = adminOf(api.access)
  const credentials = async (fresh?: boolean) => {
    await options.gate?.()
    return admin.credentials(fresh)
  }
  const real = clientWith({ ...admin, credentials }, { throttle: { qps: 0, burst: 0 } })
  const expired: string[] = []
  const noted = (what: string, error: unknown): never => {
    if (isExpired(error)) expired.push(what)
    throw error
  }
  const client: Pick<KubeClient, 'list' | 'watch'> = {
    list: async (resource, asked) => {
      const page = await real.list(resource, asked).catch((error: unknown) => noted('list', error))
      await options.afterList?.()
      return page
    },
    async *watch(resource, asked) {
      try {
        yield* real.watch(resource, asked)
      } catch (error) {
        noted('watch', error)
      }
    },
  }
  const informer = new Informer({
    ...{
      client,
      resource: configMaps,
      namespaces: [api.namespace],
      world: realWorld,
      logger: pino({ level: 'silent' }),
      indexes: { team: ({ metadata }: ConfigMap) => [metadata.labels?.['team'] ?? ''] },
    },
    ...(options.selector === undefined ? {} : { selection: { labelSelector: options.selector } }),
    timings: { ...timingsFor(1), ...options.timings },
  })
  const told: string[] = []
  informer.addHandler({
    added: ({ metadata }) => void told.push(`+${metadata.name}`),
    updated: (_before, { metadata, data }) => void told.push(`${metadata.name}=${data?.['x'] ?? ''}`),
    deleted: ({ metadata }, missed) => void told.push(`${missed ? 'missed ' : ''}-${metadata.name}`),
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await real.close()
  })
  return {
    informer,
    told,
    expired,
    names: () =>
      informer
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
  }
}

/** Everything up to this version is forgotten, as every five minutes in a cluster. */
async function compact(api: OnApiServer): Promise<void> {
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(api.access.etcd + path, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return answer.json()
  }
  const { header } = (await post('/v3/maintenance/status', {})) as { readonly header: { readonly revision: string } }
  await post('/v3/kv/compaction', { revision: header.revision, physical: true })
}

onApiServer('An informer', (api) => {
  it('has what is there, hears of what changes, and finds it by index', async () => {
    await api.client.create(configMaps, configMap(api.namespace, 'a', {}, { team: 'red' }))
    const { informer, told } = watched(api)
    await informer.synced()
    await api.client.create(configMaps, configMap(api.namespace, 'b', {}, { team: 'blue' }))
    await api.client.patch(
      configMaps,
      { namespace: api.namespace, name: 'a' },
      { data: { x: '1' }, metadata: { labels: { team: 'blue' } } },
    )
    await api.client.delete(configMaps, { namespace: api.namespace, name: 'b' })
    await vi.waitFor(() => expect(told).toEqual(['+a', '+b', 'a=1', '-b']), soon)
    expect(informer.byIndex('team', 'blue').map(({ metadata }) => metadata.name)).toEqual(['a'])
    const [known] = informer.list()
    expect(known).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
    expect(known?.metadata).not.toHaveProperty('managedFields')
    expect(Object.isFrozen(known?.data)).toBe(true)
  })

  it('hears that an object left its selection as that it is gone', async () => {
    await api.client.create(configMaps, configMap(api.namespace, 'a', {}, { team: 'red' }))
    const { informer, told } = watched(api, { selector: 'team=red' })
    await informer.synced()
    await api.client.patch(
      configMaps,
      { namespace: api.namespace, name: 'a' },
      { metadata: { labels: { team: 'blue' } } },
    )
    await vi.waitFor(() => expect(told).toEqual(['+a', '-a']), soon)
  })

  it('goes from one watch to the next without a list and without losing anything', async () => {
    let lists = 0
    const { informer, names } = watched(api, {
      timings: { shortestWatchMs: 1_000, longestWatchMs: 1_000, settledMs: 500 },
      afterList: async () => void (lists += 1),
    })
    await informer.synced()
    for (let number = 0; number < 40; number++) {
      await api.client.create(configMaps, configMap(api.namespace, `n-${number}`))
      await realWorld.timers.sleep(80)
    }
    await vi.waitFor(() => expect(names()).toHaveLength(40), soon)
    expect(lists).toBe(1)
  })
})

onApiServer('A list', (api) => {
  it('comes in pages that together are one moment', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await api.client.create(configMaps, configMap(api.namespace, name))
    const first = await api.client.list(configMaps, { namespace: api.namespace, limit: 2 })
    await api.client.delete(configMaps, { namespace: api.namespace, name: 'd' })
    const pages = [first]
    for (let token = first.continue; token !== undefined; token = pages.at(-1)?.continue)
      pages.push(await api.client.list(configMaps, { namespace: api.namespace, limit: 2, continue: token }))
    expect(pages.map(({ items }) => items.map(({ metadata }) => metadata.name))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['e'],
    ])
    expect(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size).toBe(1)
    expect(first.items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
  })

  it('of nothing is empty', async () => {
    expect((await api.client.list(configMaps, { namespace: api.namespace })).items).toEqual([])
  })
})

onApiServer('A watch', (api) => {
  it('is ended by the API server in time, with a bookmark before from which the next may begin', async () => {
    const { resourceVersion } = await api.client.list(configMaps, { namespace: api.namespace })
    const others = { ...configMap(api.namespace, 'a'), metadata: { name: 'a', namespace: 'default', labels: {} } }
    const versions: number[] = []
    const watchOnce = async (): Promise<void> => {
      for await (const event of api.client.watch(configMaps, {
        namespace: api.namespace,
        resourceVersion,
        timeoutSeconds: 5,
      })) {
        expect(event.type, 'only a bookmark tells of other namespaces').toBe('BOOKMARK')
        if (event.type === 'BOOKMARK') versions.push(Number(event.resourceVersion))
      }
    }
    const first = watchOnce()
    const made = await api.client.create(configMaps, others)
    await api.client.delete(configMaps, { namespace: 'default', name: 'a' })
    await first
    // The API server sends the bookmark two seconds before the end, and none where it was busy then.
    while (!versions.some((version) => version > Number(made.metadata.resourceVersion))) await watchOnce()
  })

  it('from a version of the future waits in silence, without a bookmark', async () => {
    const events = api.client
      .watch(configMaps, { namespace: api.namespace, resourceVersion: '999999999', timeoutSeconds: 4 })
      [Symbol.asyncIterator]()
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })
})

/** A gate that is open until it is closed. */
function aGate() {
  let opened = Promise.withResolvers<void>()
  let waits = 0
  opened.resolve()
  return {
    pass: () => ((waits += 1), opened.promise),
    close: () => {
      waits = 0
      opened = Promise.withResolvers()
    },
    open: () => opened.resolve(),
    /** Somebody came to it since it was closed. */
    isWaitedFor: () => waits > 0,
  }
}

const shortWatches = {
  shortestWatchMs: 1_000,
  longestWatchMs: 1_000,
  settledMs: 100,
  backoff: { ...timingsFor(1).backoff, firstMs: 50, longestMs: 200 },
}

onOwnApiServer(
  'After etcd was compacted',
  (api) => {
    it('an informer that was cut off lists again, and tells what it missed', async () => {
      const gate = aGate()
      for (const name of ['stays', 'changes', 'goes'])
        await api.client.create(configMaps, configMap(api.namespace, name))
      const { informer, told, expired, names } = watched(api, { timings: shortWatches, gate: gate.pass })
      await informer.synced()
      gate.close()
      // Its watch has ended, and the next one cannot begin.
      await vi.waitFor(() => expect(gate.isWaitedFor()).toBe(true), soon)
      told.length = 0
      await api.client.patch(configMaps, { namespace: api.namespace, name: 'changes' }, { data: { x: '2' } })
      await api.client.delete(configMaps, { namespace: api.namespace, name: 'goes' })
      await api.client.create(configMaps, configMap(api.namespace, 'comes'))
      await compact(api)
      expect(told).toEqual([])
      gate.open()
      await vi.waitFor(() => expect(names()).toEqual(['changes', 'comes', 'stays']), soon)
      expect([...told].sort()).toEqual(['+comes', 'changes=2', 'missed -goes'])
      expect(expired).toContain('watch')
      await api.client.delete(configMaps, { namespace: api.namespace, name: 'stays' })
      await vi.waitFor(() => expect(told).toContain('-stays'), soon)
    })

    it('in the middle of a list in pages, the list is asked for anew as a whole', async () => {
      for (let number = 0; number < 9; number++)
        await api.client.create(configMaps, configMap(api.namespace, `n-${number}`))
      // After every page, so that a list in pages would never come to its end.
      const afterList = async () => {
        await api.client.patch(configMaps, { namespace: api.namespace, name: 'n-8' }, { data: { x: 'more' } })
        await compact(api)
      }
      const { informer, expired, names } = watched(api, { timings: { ...shortWatches, pageSize: 4 }, afterList })
      await informer.synced()
      expect(names()).toHaveLength(9)
      expect(expired).toEqual(['list'])
    })
  },
  // Otherwise the API server's own memory of the last changes hides it.
  ['--watch-cache=false'],
)

onOwnApiServer('When the API server', (api) => {
  const quickly = { backoff: { ...timingsFor(1).backoff, firstMs: 50, longestMs: 200 } }
  const restart = async (between: () => Promise<void>) => {
    await api.server.kill('kube-apiserver')
    await between()
    await api.server.begin('kube-apiserver')
  }

  it('is away, requests say so, and an informer keeps what it knows and goes on by itself afterwards', async () => {
    await api.client.create(configMaps, configMap(api.namespace, 'a'))
    const { informer, names, told } = watched(api, { timings: quickly })
    await informer.synced()
    await restart(async () => {
      await expect(api.client.get(configMaps, { namespace: api.namespace, name: 'a' })).rejects.toMatchObject({
        code: 'REGENT_KUBE_UNREACHABLE',
        message: expect.stringContaining(
          `API server ${api.access.server} (GET /api/v1/namespaces/${api.namespace}/configmaps/a)`,
        ) as string,
      })
      expect(names()).toEqual(['a'])
    })
    await api.client.create(configMaps, configMap(api.namespace, 'b'))
    await api.client.delete(configMaps, { namespace: api.namespace, name: 'a' })
    await vi.waitFor(() => expect(names()).toEqual(['b']), soon)
    expect(told.filter((one) => one === '+a')).toHaveLength(1)
  })

  it('is frozen, a request ends at its deadline', async () => {
    await api.server.freeze('kube-apiserver')
    const started = performance.now()
    try {
      await expect(
        api.client.get(configMaps, { namespace: api.namespace, name: 'a' }, { deadlineMs: 500 }),
      ).rejects.toMatchObject({
        code: 'REGENT_KUBE_UNREACHABLE',
        message: expect.stringContaining('did not answer within 500 ms') as string,
      })
      expectBelow(5_000, performance.now() - started)
    } finally {
      api.server.thaw('kube-apiserver')
    }
  })

  it('came back with an etcd restored from a backup, an informer finds out that what it knows never was', async () => {
    await restart(async () => {
      await api.server.kill('etcd')
      await api.server.backUp()
      await api.server.begin('etcd')
    })
    for (const name of ['a', 'b', 'c'])
      await api.client
        .create(configMaps, configMap(api.namespace, name))
        .catch(() => expect.fail('its namespace was made before the backup'))
    const gate = aGate()
    const { informer, names } = watched(api, {
      timings: { ...quickly, idleMs: 3_000, muteMs: 3_000, settledMs: 1_000 },
      gate: gate.pass,
    })
    await informer.synced()
    expect(names()).toEqual(['a', 'b', 'c'])
    // It asks only once everything is back, so that no refused connection makes it suspicious.
    gate.close()
    await restart(async () => {
      await api.server.kill('etcd')
      await api.server.restore()
      await api.server.begin('etcd')
    })
    gate.open()
    await vi.waitFor(() => expect(names()).toEqual([]), soon)
    await api.client.create(configMaps, configMap(api.namespace, 'd'))
    await vi.waitFor(() => expect(names()).toEqual(['d']), soon)
  })
})
