import { expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { manifestText } from '../objects/manifest.ts'
import { aManifest } from '../objects/testing.ts'
import { readArchive } from './stored-archive.ts'

it('A sender keeps no parts of the backups, of which there may be a million; a restore needs them', async () => {
  const [store, backup] = [new MemoryStore(), aManifest({ gtids: 'aaaaaaaa-1111-2222-3333-444444444444:1-9' })]
  const { cluster, name, parts } = backup
  store.objects.set(keyOf({ kind: 'manifest', cluster, name }), Buffer.from(manifestText(backup)))
  expect((await readArchive(store, cluster, 'sender')).manifests).toEqual([{ ...backup, parts: [] }])
  expect((await readArchive(store, cluster)).manifests).toMatchObject([{ parts }])
})
