import { expect, it, onTestFinished, vi } from 'vitest'
import { codeOf } from '#common/errors/errors.ts'
import type { KubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { after, itKeepsTheContract, pause, shop } from '#store/contract.ts'
import { kubeStore, type KubeStoreOptions } from '#store/kube.ts'
import type { Store } from '#store/store.ts'
import { adminOf, clientWith, userOf } from './clients.ts'
import { onApiServer, onOwnApiServer, type OnApiServer } from './on-api-server.ts'

/** A manager's store, over connections of its own. */
function aStore(
  api: OnApiServer,
  options: Partial<KubeStoreOptions> & { readonly connection?: KubeConnection } = {},
): Store {
  const { connection = adminOf(api.access), ...rest } = options
  const client = clientWith(connection, { throttle: { qps: 0, burst: 0 } })
  onTestFinished(() => client.close())
  return kubeStore(client, { namespace: api.namespace, ...rest })
}

/** Changes the record as fast as it can, and checks that nothing anybody was told is undone. */
async function hammer(store: Store, name: string, won: Map<number, string>, over: AbortSignal): Promise<number> {
  let failures = 0
  for (let number = 1; !over.aborted; number++) {
    const by = `${name}.${number}`
    const newest = Math.max(0, ...won.keys())
    try {
      const { revision = 0, intent } = (await store.readRecord('shop')) ?? {}
      expect(revision).toBeGreaterThanOrEqual(newest)
      expect(won.get(revision) ?? intent?.by).toBe(intent?.by)
      const next = { ...shop, revision: revision + 1, intent: { kind: 'fetch', by, candidate: 'shop-1@b1' } } as const
      if (!(await store.compareAndSwap('shop', revision, next))) continue
      expect(won.get(next.revision)).toBeUndefined()
      won.set(next.revision, by)
    } catch (error) {
      if (codeOf(error) !== 'REGENT_STORE_UNAVAILABLE') throw error
      failures += 1
      await pause(20)
    }
  }
  return failures
}

onApiServer('The Kubernetes store', (api) => {
  itKeepsTheContract(async () => ({ first: aStore(api), second: aStore(api), end: () => Promise.resolve() }))

  it('gives each revision to exactly one of several managers that write as fast as they can', async () => {
    const won = new Map<number, string>()
    const over = new AbortController()
    const managers = ['a', 'b', 'c', 'd'].map((name) => hammer(aStore(api), name, won, over.signal))
    await vi
      .waitFor(() => expect(won.size).toBeGreaterThan(60), { timeout: 60_000, interval: 20 })
      .finally(() => over.abort())
    expect(await Promise.all(managers)).toEqual([0, 0, 0, 0])
    expect([...won.keys()].sort((one, other) => one - other)).toEqual(
      Array.from({ length: won.size }, (_, before) => before + 1),
    )
    expect(new Set([...won.values()].map((by) => by[0])).size).toBeGreaterThan(1)
    expect((await aStore(api).readRecord('shop'))?.revision).toBe(won.size)
  })

  it('is not stopped by who labels the object, and is by who deleted it', async () => {
    const store = aStore(api)
    const key = { namespace: api.namespace, name: 'shop-record' }
    await store.compareAndSwap('shop', 0, shop)
    await api.client.patch(configMaps, key, { metadata: { labels: { team: 'payments' } } })
    expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
    expect((await api.client.get(configMaps, key))?.metadata.labels).toMatchObject({ team: 'payments' })
    await api.client.delete(configMaps, key)
    expect(await store.compareAndSwap('shop', 2, after(after(shop)))).toBe(false)
    expect(await store.readRecord('shop')).toBeUndefined()
  })

  it('says in a sentence what it may not do', async () => {
    const store = aStore(api, { connection: userOf(api.access, 'nobody') })
    const refusal = (verb: string, kind: string) =>
      `Kubernetes namespace ${api.namespace}: .*User "nobody" cannot ${verb} resource "${kind}" in API group "[a-z.0-9]*" in the namespace "${api.namespace}"`
    await expect(store.readRecord('shop')).rejects.toMatchObject({
      code: 'REGENT_STORE_UNAVAILABLE',
      message: expect.stringMatching(refusal('get', 'configmaps')) as string,
    })
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({
      code: 'REGENT_STORE_UNAVAILABLE',
      message: expect.stringMatching(refusal('create', 'configmaps')) as string,
    })
  })

  it('in a namespace that is not there fails, rather than that somebody else seems to have been first', async () => {
    const store = aStore(api, { namespace: 'gone' })
    const failure = {
      code: 'REGENT_STORE_UNAVAILABLE',
      message: expect.stringContaining('namespaces "gone" not found') as string,
    }
    expect(await store.readRecord('shop')).toBeUndefined()
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject(failure)
  })
})

onOwnApiServer('The Kubernetes store', (api) => {
  it('loses nothing that it confirmed when API server and etcd are killed in the middle of writes, and goes on by itself', async () => {
    const won = new Map<number, string>()
    const over = new AbortController()
    const managers = Promise.all(
      ['a', 'b'].map((name) => hammer(aStore(api, { deadlineMs: 1_000 }), name, won, over.signal)),
    )
    const more = async () => {
      const before = won.size
      await vi.waitFor(() => expect(won.size).toBeGreaterThan(before + 20), { timeout: 60_000, interval: 20 })
    }
    try {
      await more()
      await api.server.kill('kube-apiserver')
      await api.server.begin('kube-apiserver')
      await more()
      await api.server.kill('etcd')
      await api.server.begin('etcd')
      await more()
    } finally {
      over.abort()
    }
    for (const failures of await managers) expect(failures).toBeGreaterThan(0)
  })

  it('answers by its deadline while etcd is frozen, and a write that was given up is seen by the next read, if it happened', async () => {
    const [store, hasty] = [aStore(api), aStore(api, { deadlineMs: 700 })]
    await store.compareAndSwap('shop', 0, shop)
    await api.server.freeze('etcd')
    try {
      await expect(hasty.compareAndSwap('shop', 1, after(shop))).rejects.toThrow(
        `Kubernetes namespace ${api.namespace}: writing the record of shop: no answer within 700 ms`,
      )
      await expect(hasty.readRecord('shop')).rejects.toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    } finally {
      api.server.thaw('etcd')
    }
    const record = await vi.waitFor(async () => (await store.readRecord('shop')) ?? expect.fail('no record'), {
      timeout: 20_000,
    })
    expect([shop, after(shop)]).toContainEqual(record)
    expect(await store.compareAndSwap('shop', record.revision, after(record))).toBe(true)
    expect(await store.readRecord('shop')).toEqual(after(record))
  })
})
