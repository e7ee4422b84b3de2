import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { Converger } from '#agents/converge/converger.ts'
import { anAgentConfig, aServerState, ScriptedProcess, ScriptedServer, testParts } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { addPiece, aFolder, backedUp, inSmallParts, mebibyte, name, said, throwAway } from '../testing-backups.ts'
import { copyNameOf, fetchBase } from './fetch-base.ts'
import { Restoring } from './restoring.ts'

it('A restored server that takes minutes to start is waited for: given up, it would hold data over which nothing is restored', async () => {
  const { store } = await backedUp()
  const path = await aFolder()
  for (const folder of ['agent', 'data']) await mkdir(join(path, folder))
  await writeFile(join(path, 'data/mysql.ibd'), 'empty')
  const server = new ScriptedServer({ ...aServerState(), executed: '' })
  const answers = server.readState
  let waitedMs = 0
  const starts = () => (waitedMs < 120_000 ? Promise.reject(new Error('it starts')) : answers())
  const process: ScriptedProcess = Object.assign(new ScriptedProcess(), {
    start: async () => void ((process.state = 'running'), (server.readState = starts)),
  })
  const made = await testParts(server, { process, volume: createVolume(anAgentConfig({ volume: path }), () => 0) })
  await made.observer.refresh()
  const timers = { ...made.world.timers, sleep: async (ms: number) => void (waitedMs += ms) }
  const parts = { ...made, world: { ...made.world, timers } }
  const open = async () => ({ store, key: null })
  const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
  restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
  await expect.poll(() => parts.copying.progress).toBeNull()
  expect([...parts.copying.failures]).toEqual([])
  expect(await readFile(join(path, 'data/mysql.ibd'), 'utf8')).toBe('dictionary')
  expect(parts.file.current.restored).toBe(`backup ${name} of cluster shop`)
})

it('A backup that lost a part is refused before anything is downloaded', async () => {
  const { store } = await backedUp()
  store.objects.delete(keyOf({ kind: 'part', cluster: 'shop', name, part: 1 }))
  const path = await aFolder()
  for (const folder of ['agent', 'data']) await mkdir(join(path, folder))
  const server = new ScriptedServer({ ...aServerState(), executed: '' })
  const parts = await testParts(server, { volume: createVolume(anAgentConfig({ volume: path }), () => 0) })
  await parts.observer.refresh()
  const asked: string[] = []
  const get = store.get.bind(store)
  store.get = (key, ...more) => (asked.push(key), get(key, ...more))
  const open = async () => ({ store, key: null })
  const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
  restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
  await expect.poll(() => [...parts.copying.failures]).toHaveLength(1)
  expect(JSON.stringify([...parts.copying.failures])).toContain(`part 1 of backup ${name} is not in the store any more`)
  expect(asked.filter((key) => key.includes('part'))).toEqual([])
})

it('A backup with an archive that the volume has no room for is refused before anything is downloaded', async () => {
  const { store } = await backedUp()
  addPiece(store, await readManifest(store, 'shop', name), 3_200 * mebibyte)
  const volume = { probe: async () => ({ freeBytes: 4_096 * mebibyte, failure: null, detail: '' }) }
  const parts = await testParts(new ScriptedServer({ ...aServerState(), executed: '' }), { volume })
  await parts.observer.refresh()
  const open = async () => ({ store, key: null })
  const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
  restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
  await expect.poll(() => [...parts.copying.failures]).toHaveLength(1)
  expect(JSON.stringify([...parts.copying.failures])).toMatch(
    /backup \S+ needs 4227\.3 MiB on the volume of shop-0 \(3\.0 MiB of data, 3200\.0 MiB of binary logs to replay\), and 4096\.0 MiB/,
  )
})

it('A restore that is begun again says how much is fetched once more', async () => {
  const { store } = await backedUp()
  for (const [left, says] of [
    [5 * mebibyte, /^looking for the backup; 5\.0 MiB are fetched again, since the agent died$/],
    [0, /^looking for the backup$/],
  ] as const) {
    const path = await aFolder()
    for (const folder of ['agent', 'data', ...(left > 0 ? ['data.seed'] : [])]) await mkdir(join(path, folder))
    if (left > 0) await writeFile(join(path, 'data.seed/ibdata1'), Buffer.alloc(left))
    const volume = createVolume(anAgentConfig({ volume: path }), () => 0)
    const parts = await testParts(new ScriptedServer({ ...aServerState(), executed: '' }), { volume })
    await parts.observer.refresh()
    const open = async () => ({ store, key: null })
    const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
    await restoring.takeUp()
    restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
    expect(String(parts.copying.progress?.stage)).toMatch(says)
    await expect.poll(() => parts.copying.progress).toBeNull()
    expect([...parts.copying.failures]).toEqual([])
  }
})

/** A volume on which an agent noted some parts of the backup, and died. */
async function aHalfRestore() {
  const { store } = await backedUp()
  const manifest = await inSmallParts(store, 200_000)
  const path = await aFolder()
  for (const folder of ['agent', 'data']) await mkdir(join(path, folder))
  await writeFile(join(path, 'data/mysql.ibd'), 'empty')
  const volume = createVolume(anAgentConfig({ volume: path }), () => 0)
  const asked: number[] = []
  const failing = Object.assign(new MemoryStore(), {
    get: async function* (key: string) {
      if (key.endsWith('part-000012')) throw new Error('the store is away')
      yield* store.get(key)
    },
  })
  const reading = Object.assign(new MemoryStore(), {
    objects: store.objects,
    get: async function* (key: string) {
      const part = /part-(\d+)$/.exec(key)?.[1]
      if (part !== undefined) asked.push(Number(part))
      yield* store.get(key)
    },
  })
  const fetching = fetchBase(manifest, await volume.freshSeedFolder(), {
    ...{ store: failing, key: null, own: false, volume, half: { kept: null, bytes: 0, whyNot: '' } as const },
    ...{ world: realWorld, signal: new AbortController().signal, progress: () => undefined },
  })
  await expect(fetching).rejects.toThrow('the store is away')
  const half = await volume.halfCopy(copyNameOf(manifest))
  return { path, volume, manifest, store: reading, asked, kept: half.kept?.end ?? { part: 0, bytes: 0 } }
}

it('A restore goes on with the parts that are here, and needs room for the others alone', async () => {
  for (const lacksBytes of [0, 1]) {
    const { path, volume, manifest, store, asked, kept } = await aHalfRestore()
    expect(kept.part).toBeGreaterThan(5)
    const freeBytes = Math.ceil(manifest.rawBytes * 1.1) - kept.bytes - lacksBytes
    const probe = async () => ({ freeBytes, failure: null, detail: '' })
    const server = new ScriptedServer({ ...aServerState(), executed: '' })
    const parts = await testParts(server, { volume: { ...volume, probe } })
    await parts.observer.refresh()
    const open = async () => ({ store, key: null })
    const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
    await restoring.takeUp()
    await volume.setUnusedAside({ needsBeside: false })
    restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
    await expect.poll(() => parts.copying.progress).toBeNull()
    if (lacksBytes > 0) {
      expect(JSON.stringify([...parts.copying.failures])).toContain('needs')
      expect(asked).toEqual([])
      continue
    }
    expect([...parts.copying.failures]).toEqual([])
    expect(Math.min(...asked)).toBe(kept.part + 1)
    expect((await readFile(join(path, 'data/ibdata1'))).equals(Buffer.alloc(3 * mebibyte, 'x'))).toBe(true)
  }
})

it.each([
  ['has got its place in the cluster', { promise: 1 }, ['agent', 'data', 'data.seed.unused']],
  ['is restored already', { restored: 'a backup' }, ['agent', 'data', 'data.seed.unused']],
  ['is seeded', { promise: 1, seeding: true }, ['agent', 'data', 'data.seed', 'data.seed.parts']],
])('A half restore of an instance that %s stays where that can be ordered again', async (_, state, there) => {
  const { path, volume } = await aHalfRestore()
  const parts = await testParts(new ScriptedServer({ ...aServerState(), executed: '' }), { volume })
  await parts.file.update(state)
  await new Restoring(parts, new Converger(parts, () => undefined), null).takeUp()
  await volume.setUnusedAside({ needsBeside: false })
  expect((await readdir(path)).toSorted()).toEqual(there)
})
