import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { manifestText, signedText, type Manifest } from '../objects/manifest.ts'
import { openingText } from '../objects/opening.ts'
import { KeyRing } from '../keys/key-ring.ts'
import { dataKeys, keyIdOf, signatureOf } from '../keys/data-key.ts'
import { aManifest, aPiece, sourceA, startMs } from '../objects/testing.ts'
import { planOf } from './plan-from-store.ts'

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

it('A beginning of an epoch that was damaged keeps nobody from what lies in other epochs', async () => {
  const [older, newer] = [aManifest(), aManifest({ epoch: 2, endedAtMs: startMs + 1_000, gtids: `${sourceA}:1-10` })]
  const store = await withManifests(older, newer)
  const put = (epoch: number, text: string) =>
    store.objects.set(keyOf({ kind: 'opening', cluster: 'shop', epoch }), Buffer.from(text))
  put(1, '{')
  put(2, openingText({ epoch: 2, instance: 'shop-0', atMs: startMs, gtids: `${sourceA}:1-10` }))
  const piece = aPiece({ epoch: 2, from: 11, to: 20, preceding: 10 })
  store.objects.set(keyOf({ kind: 'piece', cluster: 'shop', piece }), Buffer.from('x'))
  const plan = (backup?: string) =>
    planOf({ of: 'shop', ...(backup && { backup, untilGtids: `${sourceA}:1-20` }) }, { store, key: null }, '9.7.4')
  expect((await plan()).gtids.toString()).toBe(`${sourceA}:1-20`)
  await expect(plan(older.name)).rejects.toThrow(`transactions ${sourceA}:1-20 are in no backup and behind none`)
  put(3, 'cut off')
  expect(String((await plan()).hole)).toContain('the archive is not followed: opening of epoch 3 cannot be used')
  // What was lost in between, a later beginning tells as well.
  const gtids = `${sourceA}:1-20`
  put(4, openingText({ epoch: 4, instance: 'shop-0', atMs: startMs, gtids }))
  expect(await plan()).not.toHaveProperty('hole')
})

const key = randomBytes(32)

/** A backup that is encrypted, and a newer one that somebody put there. */
async function withStranger(): Promise<MemoryStore> {
  return withManifests(signed(good), bad)
}

function signed(manifest: Manifest): Manifest {
  const salt = randomBytes(32)
  const signature = signatureOf(signedText(manifest), dataKeys(key, salt))
  const encryption = { scheme: 'aes-256-gcm', keyId: keyIdOf(key), salt: salt.toString('hex'), signature } as const
  return { ...manifest, encryption }
}

async function withManifests(...manifests: readonly Manifest[]): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (const manifest of manifests)
    await store.putIfAbsent(
      keyOf({ kind: 'manifest', cluster: 'shop', name: manifest.name }),
      Buffer.from(manifestText(manifest)),
    )
  return store
}

const changes: readonly Partial<Manifest>[] = [
  { epoch: 9 },
  { instance: 'shop-2' },
  { startedAtMs: good.startedAtMs - 1 },
  { storedAtMs: good.storedAtMs + 1 },
  { formatVersion: 1 },
]

it.each(changes)('A manifest is refused of which something else was signed: %j', async (change) => {
  const newer = signed({ ...good, formatVersion: 2 })
  const plan = async (manifest: Manifest) =>
    planOf({ of: 'shop' }, { store: await withManifests(manifest), key: new KeyRing([key]) }, '9.7.4')
  expect((await plan(newer)).backup.epoch).toBe(good.epoch)
  await expect(plan({ ...newer, ...change })).rejects.toThrow(
    `the manifest of backup ${good.name} was changed after that was written`,
  )
})

it('A manifest of an older Regent is taken as before, and does not prove its epoch', async () => {
  const older = signed(good)
  const plan = async (manifest: Manifest) =>
    planOf({ of: 'shop' }, { store: await withManifests(manifest), key: new KeyRing([key]) }, '9.7.4')
  expect((await plan(older)).backup.name).toBe(good.name)
  expect((await plan({ ...older, epoch: 9 })).backup.epoch).toBe(9)
  await expect(plan({ ...older, gtidsAtMost: `${sourceA}:1-5` })).rejects.toThrow('was changed after')
  await expect(plan({ ...older, formatVersion: 2 })).rejects.toThrow('was changed after')
})

it('With a key nothing plain is restored, unless that is allowed', async () => {
  const store = await withStranger()
  const plan = (more: object, takesPlain = false) =>
    planOf({ of: 'shop', ...more }, { store, key: new KeyRing([key], { takesPlain }) }, '9.7.4')
  expect((await plan({})).backup.name).toBe(good.name)
  await expect(plan({ backup: bad.name })).rejects.toThrow(
    `backup ${bad.name} is not encrypted, and a key is given: anybody who writes to the store may have put that there`,
  )
  expect((await plan({}, true)).backup.name).toBe(bad.name)
  expect((await plan({ backup: bad.name }, true)).backup.name).toBe(bad.name)
})

it('With a key the archive is followed into no epoch whose opening no key signed', async () => {
  const ring = new KeyRing([key])
  const opening = { epoch: 1, instance: 'shop-0', atMs: startMs, gtids: '' }
  const piece = aPiece({ source: sourceA, from: 1, to: 10 })
  const place = { cluster: 'shop', key: ring }
  const found = async (text: string, given: KeyRing) => {
    const store = await withStranger()
    await store.putIfAbsent(keyOf({ kind: 'opening', cluster: 'shop', epoch: 1 }), Buffer.from(text))
    await store.putIfAbsent(keyOf({ kind: 'piece', cluster: 'shop', piece }), Buffer.from('x'))
    const plan = await planOf({ of: 'shop' }, { store, key: given }, '9.7.4')
    return [plan.steps.length, String(plan.hole ?? '')]
  }
  expect(await found(openingText(opening, place), ring)).toEqual([1, ''])
  const [steps, hole] = await found(openingText(opening), ring)
  expect(steps).toBe(0)
  expect(hole).toContain('the opening of epoch 1 in the archive is not signed, and a key is given')
  const other = new KeyRing([randomBytes(32), key])
  expect(await found(openingText(opening, { ...place, key: other }), ring)).toEqual([
    0,
    expect.stringContaining(`is signed with key ${keyIdOf(other.first)}: give the file of that key`),
  ])
  expect(await found(openingText(opening, { ...place, cluster: 'other' }), ring)).toEqual([
    0,
    expect.stringContaining('was changed after that was written'),
  ])
  expect(await found(openingText(opening, { ...place, key: other }), other)).toEqual([1, ''])
})
