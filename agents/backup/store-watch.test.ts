import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { ownerText } from '#backup/objects/owner.ts'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { aManifest } from '#backup/objects/testing.ts'
import { verificationText } from '#backup/objects/verification.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { learn } from '../instance/learn.ts'
import { Lease } from '../guard/lease.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { StoreWatch } from './store-watch.ts'

const lineage = '00112233445566778899aabbccddeeff'
const task: BackupTask = {
  store: { address: 'memory' },
  retention: { last: 3, days: 7, weeks: 4 },
  archive: { everySeconds: 5 },
}
const manifest = aManifest()
const { name } = manifest

/** The agent of a primary that was told of a store, and a clock that a test moves. */
async function aPrimary(store = new MemoryStore(), assignment: object = primaryOfEpoch3, key: KeyRing | null = null) {
  let nowMs = 1_000
  let opened = 0
  const parts = await testParts(new ScriptedServer(aServerState()))
  const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs }
  const late: (() => void)[] = []
  const timers = {
    ...realWorld.timers,
    after: (_: number, run: () => void) => (late.push(run), { cancel: () => undefined }),
  }
  Object.assign(parts, { world: { ...realWorld, clock, timers } })
  await parts.file.update({ promise: 3, assignment: assignment as typeof primaryOfEpoch3 })
  learn(parts, { fact: 'backupsTold', task })
  const watch = new StoreWatch(parts, { lineage, open: async () => (opened++, { store, key }) })
  const watcher = watcherOf(parts, watch)
  const builder = new ObservationBuilder(parts, new Lease(parts, () => undefined), '0', true)
  return {
    ...{ parts, store, late },
    shown: () => builder.build().backups,
    look: () => watcher.look(),
    opened: () => opened,
    later: async (ms: number) => {
      nowMs += ms
      await watcher.look()
    },
  }
}

function put(store: MemoryStore, kind: 'begun' | 'manifest' | 'verified', text: string, of = name): void {
  store.objects.set(keyOf({ kind, cluster: 'shop', name: of }), Buffer.from(text))
}

function aStoreWithABackup(): MemoryStore {
  const store = new MemoryStore()
  const owner = ownerText({ formatVersion: 1, cluster: 'shop', lineage, claimedAtMs: 0 })
  store.objects.set(keyOf({ kind: 'owner', cluster: 'shop' }), Buffer.from(owner))
  put(store, 'begun', '{}')
  put(store, 'manifest', manifestText(manifest))
  return store
}

const empty = { whole: 0, leftovers: 0, begun: null, newest: null, verified: null }
const newest = {
  ...{ name, endedAtMs: manifest.endedAtMs, rawBytes: 5_000_000, storedBytes: 1_500_000 },
  startedAtMs: manifest.startedAtMs,
  tookMs: manifest.storedAtMs - manifest.startedAtMs,
  gtids: manifest.gtids,
}

it('A primary with a store says what lies there, and how long ago that was seen', async () => {
  const { shown, look, store, later } = await aPrimary()
  expect(shown()).toBeUndefined()
  await look()
  expect(shown()).toEqual({ ...empty, answers: true, sentence: '', lookedAgoMs: 0 })
  for (const [key, bytes] of aStoreWithABackup().objects) store.objects.set(key, bytes)
  await later(59_000)
  expect(shown()).toMatchObject({ ...empty, lookedAgoMs: 59_000 })
  await later(1_000)
  expect(shown()).toMatchObject({ ...empty, whole: 1, newest, begun: { name, whole: true }, lookedAgoMs: 0 })
})

it('A backup that was restored once is told as such, and a run without a manifest is a leftover', async () => {
  const store = aStoreWithABackup()
  const proof = {
    verifiedAtMs: 5,
    restoreMs: 7,
    gtids: '',
    reachedMs: 0,
    tables: 3,
    rows: 40,
    compared: 2,
    replica: 'shop-1',
  }
  put(
    store,
    'verified',
    verificationText({ formatVersion: 1, ...proof }, { cluster: 'shop', lineage, name, key: null }),
  )
  put(store, 'begun', '{}', '20270101T000000Z')
  const { shown, look } = await aPrimary(store)
  await look()
  expect(shown()).toMatchObject({
    ...{ whole: 1, leftovers: 1, newest, begun: { name: '20270101T000000Z', whole: false } },
    verified: { name, verifiedAtMs: 5, restoreMs: 7, tables: 3, rows: 40, compared: 2, replica: 'shop-1' },
  })
})

it('With a key a backup is verified by a word that the key signed, and another word is told of', async () => {
  const [store, key] = [aStoreWithABackup(), new KeyRing([randomBytes(32)])]
  const proof = {
    formatVersion: 1,
    verifiedAtMs: 5,
    restoreMs: 7,
    gtids: '',
    reachedMs: 0,
    tables: 0,
    rows: 0,
  } as const
  const place = { cluster: 'shop', lineage, name }
  const { shown, look, later } = await aPrimary(store, primaryOfEpoch3, key)
  for (const [by, why] of [
    [null, `the word that backup ${name} was verified is not signed, and a key is given`],
    [new KeyRing([randomBytes(32)]), `the word that backup ${name} was verified is signed with key`],
  ] as const) {
    put(store, 'verified', verificationText(proof, { ...place, key: by }))
    await (by === null ? look() : later(60_000))
    expect(shown()).toMatchObject({ verified: null, newest, answers: true })
    expect(shown()?.sentence).toContain(why)
  }
  put(store, 'verified', verificationText(proof, { ...place, key }))
  await later(60_000)
  expect(shown()).toMatchObject({ verified: { name, verifiedAtMs: 5 }, sentence: '' })
})

it('With a key it is told of the newest backup that no restore takes it, until the key of the store is another', async () => {
  const store = aStoreWithABackup()
  const key = new KeyRing([randomBytes(32)])
  const { shown, look } = await aPrimary(store, primaryOfEpoch3, key)
  await look()
  expect(shown()?.newest).toEqual({
    ...newest,
    refused: `backup ${name} is not encrypted, and a key is given: anybody who writes to the store may have put that there; older objects need --allow-plain (allowPlain)`,
  })
  const takesPlain = new KeyRing([key.first], { takesPlain: true })
  for (const ring of [null, takesPlain]) {
    const primary = await aPrimary(store, primaryOfEpoch3, ring)
    await primary.look()
    expect(primary.shown()?.newest).toEqual(newest)
  }
})

it('A manifest is read once, and looked for again once a backup of this instance has ended', async () => {
  const store = aStoreWithABackup()
  const read: string[] = []
  const get = store.get.bind(store)
  store.get = (key) => (read.push(key), get(key))
  const { parts, look, later, opened } = await aPrimary(store)
  await look()
  await later(60_000)
  expect(read.filter((key) => key.endsWith('manifest.json'))).toHaveLength(1)
  const backup = { name: '20270101T000000Z', stage: 'sends', rawBytes: 0, storedBytes: 0, sentence: '' } as const
  for (const [stage, looks] of [
    ['sends', 2],
    ['done', 3],
    ['done', 3],
  ] as const) {
    learn(parts, { fact: 'backupWent', backup: { ...backup, stage } })
    await look()
    expect([stage, opened()]).toEqual([stage, looks])
  }
})

it('What cannot be read is said, and the newest that can be read is shown', async () => {
  const store = aStoreWithABackup()
  const newer = '20270101T000000Z'
  put(
    store,
    'manifest',
    manifestText(aManifest({ name: newer })).replace('"formatVersion": 1', '"formatVersion": 3'),
    newer,
  )
  put(store, 'verified', 'nonsense')
  const { shown, look } = await aPrimary(store)
  await look()
  expect(shown()).toMatchObject({
    whole: 2,
    newest,
    verified: null,
    answers: true,
    begun: { name: newer, whole: true },
  })
  expect(shown()?.sentence).toContain(`manifest of ${newer} is of a newer Regent`)
  expect(shown()?.sentence).toContain(`verification of ${name} cannot be used`)
})

it('The backups of another cluster of that name are not taken for its own', async () => {
  const store = aStoreWithABackup()
  const other = ownerText({ formatVersion: 1, cluster: 'shop', lineage: 'ffeeddccbbaa9988', claimedAtMs: 0 })
  store.objects.set(keyOf({ kind: 'owner', cluster: 'shop' }), Buffer.from(other))
  const { shown, look } = await aPrimary(store)
  await look()
  expect(shown()).toMatchObject({ ...empty, answers: false, lookedAgoMs: null })
  expect(shown()?.sentence).toContain('has the backups of another cluster of that name')
})

it('A store that fails is a sentence, what was seen before grows old, and it is asked less and less often', async () => {
  const store = aStoreWithABackup()
  const { parts, shown, look, later, opened } = await aPrimary(store)
  await look()
  const list = store.list.bind(store)
  store.list = () => {
    throw new RegentError('REGENT_BACKUP_STORE', say`memory does not answer`)
  }
  await later(60_000)
  expect(shown()).toMatchObject({ whole: 1, newest, answers: false, lookedAgoMs: 60_000 })
  expect(shown()?.sentence).toContain('memory does not answer')
  const looks = [60_000, 60_000, 60_000, 240_000, 60_000, 240_000]
  const taken: number[] = []
  for (const ms of looks) {
    const before = opened()
    await later(ms)
    taken.push(opened() - before)
  }
  expect(taken).toEqual([1, 0, 1, 1, 0, 1])
  store.list = list
  await later(300_000)
  expect(shown()).toMatchObject({ answers: true, sentence: '', lookedAgoMs: 0 })
  expect(parts.notices.list.map(({ code }) => code)).toEqual(['BackupStoreUnseen', 'BackupStoreBack'])
})

it('A store that hangs is a sentence, and no second look hangs beside the first', async () => {
  const store = aStoreWithABackup()
  let goOn = (): void => undefined
  const gate = new Promise<void>((resolve) => (goOn = resolve))
  const list = store.list.bind(store)
  store.list = async function* (prefix) {
    await gate
    yield* list(prefix)
  }
  const { shown, look, late, later, opened } = await aPrimary(store)
  const looking = look()
  await new Promise((resolve) => setTimeout(resolve, 5))
  for (const run of late) run()
  expect(shown()).toMatchObject({ ...empty, answers: false, lookedAgoMs: null })
  expect(shown()?.sentence).toBe('the store of backups did not answer within 60 s')
  await later(600_000)
  expect(opened()).toBe(1)
  goOn()
  await looking
  expect(shown()?.answers).toBe(false)
  await later(60_000)
  expect(shown()).toMatchObject({ whole: 1, answers: true })
})

it('Nobody looks who is no primary, or was told of no store; and what another store held is not shown', async () => {
  const replica = await aPrimary(aStoreWithABackup(), replicaOfEpoch3)
  await replica.look()
  expect([replica.opened(), replica.shown()]).toEqual([0, undefined])
  const { parts, look, shown, opened } = await aPrimary(aStoreWithABackup())
  await look()
  learn(parts, { fact: 'backupsTold', task: null })
  expect(shown()).toBeUndefined()
  await look()
  expect(opened()).toBe(1)
})

it('The folder that the store names is the one that is looked at, whatever the cluster is called', async () => {
  const store = aStoreWithABackup()
  const owner = ownerText({ formatVersion: 1, cluster: 'prod', lineage, claimedAtMs: 0 })
  store.objects.set(keyOf({ kind: 'owner', cluster: 'prod' }), Buffer.from(owner))
  const other = '20270101T000000Z'
  const text = manifestText(aManifest({ cluster: 'prod', name: other }))
  store.objects.set(keyOf({ kind: 'manifest', cluster: 'prod', name: other }), Buffer.from(text))
  const { parts, look, shown } = await aPrimary(store)
  learn(parts, { fact: 'backupsTold', task: { ...task, store: { ...task.store, folder: 'prod' } } })
  await look()
  expect(shown()).toMatchObject({ whole: 1, newest: { name: other } })
})
