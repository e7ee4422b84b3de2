import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { CellName } from './cells.ts'
import { after, itKeepsTheContract, itNamesWhatIsDamaged, recovery, shop } from './contract.ts'
import { kubeStore } from './kube.ts'

const where = { namespace: 'shops' }
const recordKey = { namespace: 'shops', name: 'shop-record' }

function clientOf(server: FakeApiServer) {
  return createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
}

describe('The Kubernetes store', () => {
  itKeepsTheContract(async () => {
    const server = await FakeApiServer.start()
    const clients = [clientOf(server), clientOf(server)] as const
    return {
      first: kubeStore(clients[0], where),
      second: kubeStore(clients[1], where),
      end: async () => {
        await Promise.all(clients.map((client) => client.close()))
        await server[Symbol.asyncDispose]()
      },
    }
  })

  itNamesWhatIsDamaged(async () => {
    const server = await FakeApiServer.start()
    const client = clientOf(server)
    const nameOf = (name: CellName): string => name.split('.').toReversed().join('-')
    return {
      store: kubeStore(client, where),
      damage: async (name, text) =>
        void (await client.patch(configMaps, { namespace: 'shops', name: nameOf(name) }, { data: { text } })),
      objectOf: (name) => `ConfigMap shops/${nameOf(name)}`,
      end: async () => {
        await client.close()
        await server[Symbol.asyncDispose]()
      },
    }
  })

  describe('with one manager', () => {
    let server: FakeApiServer
    let client: ReturnType<typeof clientOf>
    beforeEach(async () => {
      server = await FakeApiServer.start()
      client = clientOf(server)
    })
    afterEach(async () => {
      await client.close()
      await server[Symbol.asyncDispose]()
    })

    it('swaps a record that it has seen in one request', async () => {
      const store = kubeStore(client, where)
      await store.compareAndSwap('shop', 0, shop)
      const before = server.requests.length
      expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
      expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['PATCH'])
    })

    it('is not stopped by somebody who labels the object, and leaves the label', async () => {
      const store = kubeStore(client, where)
      await store.compareAndSwap('shop', 0, shop)
      await client.patch(configMaps, recordKey, { metadata: { labels: { team: 'payments' } } })
      expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
      expect((await client.get(configMaps, recordKey))?.metadata.labels).toMatchObject({
        team: 'payments',
        'regent.dev/cluster': 'shop',
      })
    })

    it('leaves a ConfigMap of somebody else that has the name of its recoveries, and keeps the notes without them', async () => {
      const store = kubeStore(client, where)
      const theirs = { namespace: 'shops', name: 'shop-recoveries' }
      const data = { plan: 'call the vendor' }
      await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: theirs, data })
      await store.updateNotes('shop', (notes) => ({ ...notes, instances: 5, recoveries: [recovery('first')] }))
      expect(await store.readNotes('shop')).toMatchObject({ instances: 5, recoveries: [] })
      await store.forget('shop')
      expect((await client.get(configMaps, theirs))?.data).toEqual(data)
      expect(await store.readNotes('shop')).toMatchObject({ instances: null })
    })

    describe('for a cluster that was made again under the same name', () => {
      const ownerOf = (uid: string) => ({ apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLCluster', name: 'shop', uid })
      const storeOf = (uid: string) => kubeStore(client, { ...where, owner: ownerOf(uid) })
      const waits =
        /ConfigMap shops\/shop-record is of an earlier MySQLCluster shop .*Kubernetes removes .*kubectl -n shops delete configmap shop-record/

      it('neither reads nor changes what is left of the one before', async () => {
        await storeOf('before').compareAndSwap('shop', 0, shop)
        const anew = storeOf('anew')
        await expect(anew.readRecord('shop')).rejects.toThrow(waits)
        await expect(anew.compareAndSwap('shop', 1, after(shop))).rejects.toThrow(waits)
        expect(await anew.compareAndSwap('shop', 0, shop)).toBe(false)
        expect(await storeOf('before').readRecord('shop')).toEqual(shop)
        await client.delete(configMaps, recordKey)
        expect(await anew.readRecord('shop')).toBeUndefined()
        expect(await anew.compareAndSwap('shop', 0, shop)).toBe(true)
      })

      it('nor its notes', async () => {
        await storeOf('before').updateNotes('shop', (notes) => ({ ...notes, instances: 5 }))
        await expect(storeOf('anew').readNotes('shop')).rejects.toThrow(/ConfigMap shops\/shop-notes is of an earlier/)
        await expect(storeOf('anew').updateNotes('shop', (notes) => ({ ...notes, instances: 4 }))).rejects.toThrow(
          /is of an earlier/,
        )
        expect((await storeOf('before').readNotes('shop')).instances).toBe(5)
      })

      it('takes what nobody owns, and what it owns beside others', async () => {
        await kubeStore(client, where).compareAndSwap('shop', 0, shop)
        expect(await storeOf('anew').readRecord('shop')).toEqual(shop)
        const ownerReferences = [ownerOf('anew'), ownerOf('before')]
        await client.patch(configMaps, recordKey, { metadata: { ownerReferences } })
        expect(await storeOf('anew').readRecord('shop')).toEqual(shop)
      })
    })

    it('whose write was not answered reads again before it believes anything', async () => {
      const store = kubeStore(client, { ...where, deadlineMs: 5_000 })
      await store.compareAndSwap('shop', 0, shop)
      server.misbehave({ when: ({ method }) => method === 'PATCH', answer: 'reset' })
      await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toMatchObject({
        code: 'REGENT_STORE_UNAVAILABLE',
      })
      const kept = await store.readRecord('shop')
      expect(await store.compareAndSwap('shop', kept?.revision ?? 0, after(kept ?? shop))).toBe(true)
    })

    it('refuses an object that somebody else wrote', async () => {
      const store = kubeStore(client, where)
      await client.create(configMaps, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: recordKey,
        data: { text: '{}' },
      })
      await expect(store.readRecord('shop')).rejects.toMatchObject({
        code: 'REGENT_STORE_DAMAGED',
        message: expect.stringContaining('ConfigMap shops/shop-record is none of Regent') as string,
      })
    })

    it('answers by its deadline when the API server does not', async () => {
      const store = kubeStore(client, { ...where, deadlineMs: 200 })
      server.misbehave({ times: 10, answer: 'silence' })
      await expect(store.readRecord('shop')).rejects.toThrow(
        'Kubernetes namespace shops: reading the record of shop: no answer within 200 ms',
      )
    })
  })
})
