import { mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BackUp } from '#agents/backup/back-up.ts'
import { aFolder, lineage, mebibyte, said } from '#agents/backup/testing-backups.ts'
import { ownerKey, putProof, retaining } from '#agents/backup/testing-retention.ts'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { LeftoverCopy } from '#agents/lifecycle/mysql/data-dump.ts'
import {
  anAgentConfig,
  aServerState,
  MemoryDisk,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { planOf } from '#backup/transfer/plan-from-store.ts'
import { backupsOf, readManifest } from '#backup/transfer/stored-manifests.ts'
import { verifyBackup } from '#backup/transfer/verify-backup.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

/** What outlives an agent. */
interface Machine {
  readonly path: string
  readonly disk: MemoryDisk
}

interface Run {
  readonly name: string
  /** Of its longest file. */
  readonly bytes?: number
  readonly life?: Life
}

const twoParts = 65 * mebibyte
const [older, dying, newer] = ['20261125T031209Z', '20261126T031209Z', '20261127T031209Z'] as const
const release = '9.7.4'

async function aMachine(): Promise<Machine> {
  const path = await aFolder()
  await mkdir(join(path, 'agent'))
  await mkdir(join(path, 'data'))
  return { path, disk: new MemoryDisk() }
}

/** The agent begins, removes what an earlier one left, and makes one backup. */
async function backsUp({ path, disk }: Machine, store: MemoryStore, { name, bytes = 1_000, life = new Life() }: Run) {
  const server = new ScriptedServer({ ...aServerState(), readOnly: true, superReadOnly: true, offlineMode: false })
  server.cloneLocal = async (to) => {
    await life.step(() => mkdir(to))
    await life.step(() => writeFile(join(to, 'mysql.ibd'), 'dictionary'))
    await life.step(() => fileWith(join(to, 'ibdata1'), bytes))
  }
  const volume = life.living(
    createVolume(anAgentConfig({ volume: path }), () => 0),
    ['freshStreamFolder', 'dropStreamFolder'],
  )
  const file = life.living(await StoredStateFile.open(disk, 'state', () => freshState('volume-0', 'boot')), ['update'])
  const parts = { ...(await testParts(server, { process: new ScriptedProcess(), volume })), file }
  const port = { lineage, open: async () => ({ store: life.storing(store), key: null }) }
  const end = await life.lives(async () => {
    await file.update({ promise: 3, assignment: replicaOfEpoch3 })
    await parts.observer.refresh()
    const leftover = new LeftoverCopy(parts)
    if (leftover.while()) await leftover.look()
    expect(await readdir(path)).not.toContain('data.stream')
    new BackUp(parts, port).begin({ ...said, name })
    await life.until(() => ['done', 'failed'].includes(parts.jobs.backup?.stage ?? ''))
  })
  return { end, made: parts.jobs.backup }
}

/** A hole in a file is read as zeros. */
async function fileWith(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w')
  await file.truncate(bytes)
  await file.close()
}

/** A primary deletes what one backup beside the newest verified one does not need, a day and more after the last. */
async function retains(store: MemoryStore): Promise<void> {
  const task = {
    store: { address: 'memory' },
    retention: { last: 1, days: 0, weeks: 0 },
    archive: { everySeconds: 0 },
  }
  store.modifiedMs.set(ownerKey, Date.parse('2026-11-29T04:00:00Z'))
  await (await retaining(store, { task, wallMs: Date.parse('2026-11-29T04:00:00Z') })).turn()
}

/** A store with one whole backup that was restored once. */
async function aStore(): Promise<MemoryStore> {
  const store = new MemoryStore()
  expect((await backsUp(await aMachine(), store, { name: older })).made).toMatchObject({ stage: 'done' })
  putProof(store, older)
  return store
}

/** What looks whole can be read to its end. */
async function wholeOnes(store: MemoryStore): Promise<readonly string[]> {
  const names = await backupsOf(store, 'shop')
  for (const name of names) {
    const signal = new AbortController().signal
    await verifyBackup(await readManifest(store, 'shop', name), { store, key: null, signal, progress: () => undefined })
  }
  return names
}

const runsIn = ({ objects }: MemoryStore) => [
  ...new Set([...objects.keys()].flatMap((key) => (key.startsWith('shop/base/') ? [key.split('/')[2]] : []))),
]

describe('A base backup whose agent dies at any step', () => {
  it.each(moments)('%s is whole or no backup, and what is left of it goes with the next one', async (_, isDone) => {
    const [before, whole] = [await aStore(), new Set<string>()]
    const deaths = await atEachStep(isDone, async (life, at) => {
      const [machine, store] = [await aMachine(), new MemoryStore()]
      for (const [key, bytes] of before.objects) store.objects.set(key, bytes)
      const { end } = await backsUp(machine, store, { name: dying, bytes: twoParts, life })
      const [names, keys] = [await wholeOnes(store), [...store.objects.keys()]]
      const isWhole = names.includes(dying)
      whole.add(`${isWhole}`)
      expect(names, `death ${at}`).toContain(older)
      expect((await planOf({ of: 'shop' }, { store, key: null }, release)).backup.name).toBe(isWhole ? dying : older)
      if (end === 'ended') return end

      // Somebody orders the same run again: two runs of one name would write over each other's parts.
      const isBegun = keys.includes(keyOf({ kind: 'begun', cluster: 'shop', name: dying }))
      const again = await backsUp(machine, store, { name: dying, bytes: twoParts })
      expect(again.made?.stage, `death ${at}`).toBe(isBegun && !isWhole ? 'failed' : 'done')
      if (isBegun) expect([...store.objects.keys()], `death ${at}`).toEqual(keys)
      expect((await backsUp(machine, store, { name: newer })).made, `death ${at}`).toMatchObject({ stage: 'done' })
      await retains(store)
      expect(runsIn(store), `death ${at}`).toEqual([older, newer])
      expect(await wholeOnes(store), `death ${at}`).toEqual([older, newer])
      return end
    })
    expect(deaths).toBeGreaterThan(10)
    expect(whole.size).toBe(2)
  })
})
