import { expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { manifestText } from '../objects/manifest.ts'
import { openingText } from '../objects/opening.ts'
import { aManifest } from '../objects/testing.ts'
import { readArchive } from './stored-archive.ts'
import { textOf } from './text-of.ts'

const mebibyte = Buffer.alloc(1_048_576, ' ')
const aBeginning = { epoch: 1, instance: 'shop-0', atMs: 1, gtids: '' }

it('A sender keeps no parts of the backups, of which there may be a million; a restore needs them', async () => {
  const [store, backup] = [new MemoryStore(), aManifest({ gtids: 'aaaaaaaa-1111-2222-3333-444444444444:1-9' })]
  const { cluster, name, parts } = backup
  store.objects.set(keyOf({ kind: 'manifest', cluster, name }), Buffer.from(manifestText(backup)))
  expect((await readArchive(store, cluster, 'sender')).manifests).toEqual([{ ...backup, parts: [] }])
  expect((await readArchive(store, cluster)).manifests).toMatchObject([{ parts }])
})

it('A sender passes over what is listed and gone, and over what is longer than any manifest', async () => {
  const [store, backup] = [new MemoryStore(), aManifest()]
  const { cluster, name } = backup
  store.objects.set(keyOf({ kind: 'manifest', cluster, name }), Buffer.from(manifestText(backup)))
  store.objects.set(keyOf({ kind: 'opening', cluster, epoch: 1 }), Buffer.from(openingText(aBeginning)))
  const gone = [
    keyOf({ kind: 'manifest', cluster, name: '20200101T000000Z' }),
    keyOf({ kind: 'opening', cluster, epoch: 0 }),
  ]
  const list = store.list.bind(store)
  store.list = async function* (prefix) {
    for (const key of gone) if (key.startsWith(prefix)) yield { key, bytes: 1, modifiedMs: 0 }
    yield* list(prefix)
  }
  const long = keyOf({ kind: 'manifest', cluster, name: '20200102T000000Z' })
  store.objects.set(long, Buffer.from('{'))
  const get = store.get.bind(store)
  store.get = async function* (key) {
    yield* get(key)
    for (let chunks = 0; key === long && chunks < 200; chunks += 1) yield mebibyte
  }
  const { manifests, openings } = await readArchive(store, cluster, 'sender')
  expect(manifests.map((each) => each.name)).toEqual([name])
  expect(openings.map(({ epoch }) => epoch)).toEqual([1])
  await expect(readArchive(store, cluster)).rejects.toThrow('is not in the store')
  gone.shift()
  await expect(readArchive(store, cluster)).rejects.toMatchObject({ code: 'REGENT_BACKUP_UNUSABLE' })
})

it('A manifest is read that is as long as one of a million parts', async () => {
  const store = new MemoryStore()
  store.get = async function* () {
    for (let chunks = 0; chunks < 100; chunks += 1) yield mebibyte
  }
  await expect(textOf(store, 'a')).resolves.toHaveLength(100 * mebibyte.length)
})
