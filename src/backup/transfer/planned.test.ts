import { expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '../keys.ts'
import { manifestText } from '../manifest.ts'
import { aManifest, startMs } from '../testing.ts'
import { planOf } from './planned.ts'

const [good, bad] = [aManifest(), aManifest({ endedAtMs: startMs + 3_600_000 })]

async function aStore(): Promise<MemoryStore> {
  const store = new MemoryStore()
  const put = (name: string, text: string) =>
    store.putIfAbsent(keyOf({ kind: 'manifest', cluster: 'shop', name }), Buffer.from(text))
  await put(good.name, manifestText(good))
  await put(bad.name, manifestText(bad).replace('shop-1', 'shop-2'))
  return store
}

const planned = async (backup?: string) => planOf({ of: 'shop', backup }, { store: await aStore(), key: null }, '9.7.4')

it('Where a manifest was changed nothing is restored unasked, and another backup can be named', async () => {
  await expect(planned()).rejects.toMatchObject({ code: 'REGENT_BACKUP_UNUSABLE' })
  await expect(planned(bad.name)).rejects.toMatchObject({ code: 'REGENT_BACKUP_UNUSABLE' })
  expect((await planned(good.name)).backup.name).toBe(good.name)
  await expect(planned('20200101T000000Z')).rejects.toThrow(/manifest of/)
})

it('A backup that is restored as it is needs nothing of the archive, whatever was changed there', async () => {
  const store = await aStore()
  await store.putIfAbsent(keyOf({ kind: 'opening', cluster: 'shop', epoch: 1 }), Buffer.from('{'))
  const plan = (more: object) => planOf({ of: 'shop', backup: good.name, ...more }, { store, key: null }, '9.7.4')
  expect((await plan({})).backup.name).toBe(good.name)
  await expect(plan({ until: '2026-11-25T03:12:09Z' })).rejects.toThrow('opening of epoch 1 cannot be used')
})
