import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { manifestText } from '../objects/manifest.ts'
import { openingText } from '../objects/opening.ts'
import { planRetention } from '../retention/plan-retention.ts'
import { KeyRing } from '../keys/key-ring.ts'
import { aManifest, startMs } from '../objects/testing.ts'
import { verificationText } from '../objects/verification.ts'
import { readStock } from './read-stock.ts'

const dayMs = 86_400_000
const [first, second, third] = [0, 1, 2].map((days) => aManifest({ endedAtMs: startMs + days * dayMs })) as [
  ReturnType<typeof aManifest>,
  ReturnType<typeof aManifest>,
  ReturnType<typeof aManifest>,
]
const key = new KeyRing([randomBytes(32)])
const rule = { last: 1, days: 0, weeks: 0 }

function aStore(): MemoryStore {
  const store = new MemoryStore()
  for (const manifest of [first, second, third])
    store.objects.set(
      keyOf({ kind: 'manifest', cluster: 'shop', name: manifest.name }),
      Buffer.from(manifestText(manifest)),
    )
  return store
}

function verify(store: MemoryStore, of: typeof first, by: KeyRing | null): void {
  const proof = { formatVersion: 1, verifiedAtMs: startMs, restoreMs: 1, gtids: '', reachedMs: 0 } as const
  const { cluster, lineage, name } = of
  const text = verificationText({ ...proof, tables: 1, rows: 1 }, { cluster, lineage, name, key: by })
  store.objects.set(keyOf({ kind: 'verified', cluster, name }), Buffer.from(text))
}

/** Which backups retention keeps, and why. */
async function kept(store: MemoryStore, by: KeyRing | null = key): Promise<readonly string[]> {
  const { stock } = await readStock(store, 'shop', { key: by })
  return planRetention(stock, rule, startMs + 100 * dayMs).keep.map(({ why }) => String(why))
}

const newest = `backup ${third.name} is one of the newest (1 stay)`

it('With a key the newest backup stays that a signed word says was verified, whatever anybody says of newer ones', async () => {
  const store = aStore()
  verify(store, first, key)
  verify(store, second, null)
  expect(await kept(store)).toEqual([`backup ${first.name} is the newest that was verified`, newest])
  expect(await kept(store, null)).toEqual([`backup ${second.name} is the newest that was verified`, newest])
})

it('What was verified before there was a key stays until something is signed', async () => {
  const store = aStore()
  verify(store, first, null)
  store.objects.set(keyOf({ kind: 'verified', cluster: 'shop', name: '20200101T000000Z' }), Buffer.from('nonsense'))
  store.modifiedMs.set(keyOf({ kind: 'manifest', cluster: 'shop', name: third.name }), startMs)
  expect(await kept(store)).toEqual([
    `backup ${first.name} is the newest of which it is said that it was verified, which no key signed`,
    newest,
  ])
  verify(store, third, key)
  expect(await kept(store)).toEqual([`backup ${third.name} is the newest that was verified`])
})

it('An object that a listing names twice counts once', async () => {
  const store = aStore()
  const list = store.list.bind(store)
  store.list = async function* (prefix) {
    for await (const object of list(prefix)) {
      yield object
      yield object
    }
  }
  const { stock } = await readStock(store, 'shop', { key: null })
  expect(stock.objects).toHaveLength(3)
  const sweep = planRetention(stock, { last: 2, days: 0, weeks: 0 }, startMs + 100 * dayMs)
  expect(sweep.keep.map(({ keys }) => keys.length)).toEqual([1, 1])
  expect(sweep.delete.map(({ keys }) => keys)).toEqual([
    [keyOf({ kind: 'manifest', cluster: 'shop', name: first.name })],
  ])
})

it('A beginning of an epoch that was damaged keeps no backup from being deleted, and one of a newer Regent all', async () => {
  const store = aStore()
  const at = keyOf({ kind: 'opening', cluster: 'shop', epoch: 1 })
  store.objects.set(at, Buffer.from('{'))
  const { stock, whyNot } = await readStock(store, 'shop', { key })
  expect([whyNot, stock.openings, planRetention(stock, rule, startMs).delete.length]).toEqual(['', [], 2])
  const text = openingText({ epoch: 1, instance: 'shop-0', atMs: startMs, gtids: '' })
  store.objects.set(at, Buffer.from(text.replace('"formatVersion": 1', '"formatVersion": 2')))
  expect(String((await readStock(store, 'shop', { key })).whyNot)).toBe(
    'nothing is deleted: opening of epoch 1 is of a newer Regent: format version 2, and this Regent reads up to 1',
  )
})

it('By a beginning of an epoch that nobody signed nothing of the archive is given up', async () => {
  const store = aStore()
  const opening = { instance: 'shop-0', atMs: startMs, gtids: '' }
  const put = (epoch: number, by: KeyRing | null) =>
    store.objects.set(
      keyOf({ kind: 'opening', cluster: 'shop', epoch }),
      Buffer.from(openingText({ epoch, ...opening }, { cluster: 'shop', key: by })),
    )
  put(1, null)
  put(2, key)
  const openings = async (by: KeyRing | null) =>
    (await readStock(store, 'shop', { key: by })).stock.openings.map(({ epoch }) => epoch)
  expect([await openings(null), await openings(key)]).toEqual([[1, 2], [2]])
})

it('Nothing is deleted where a listing does not show a manifest that is there: its parts are no leftover', async () => {
  const store = aStore()
  for (const { name } of [first, third])
    store.objects.set(keyOf({ kind: 'part', cluster: 'shop', name, part: 1 }), Buffer.from('part'))
  const whyNot = async () => String((await readStock(store, 'shop', { key })).whyNot)
  expect(await whyNot()).toBe('')
  const list = store.list.bind(store)
  const hidden = keyOf({ kind: 'manifest', cluster: 'shop', name: third.name })
  store.list = async function* (prefix) {
    for await (const object of list(prefix)) if (object.key !== hidden) yield object
  }
  expect(await whyNot()).toBe(
    `nothing is deleted: the store does not list the manifest of backup ${third.name}, which is there: its list is late, or lacks some`,
  )
  store.objects.set(hidden, Buffer.from('{'))
  expect(await whyNot()).toContain('the store does not list the manifest')
  store.objects.delete(hidden)
  expect(await whyNot()).toBe('')
})
