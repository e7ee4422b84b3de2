import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Heard } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { backupName } from '#backup/objects/backup-name.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { aManifest, sourceA } from '#backup/objects/testing.ts'
import { FolderStore } from '#object-store/folder/folder-store.ts'
import type { MemoryStore } from '#object-store/testing-store.ts'
import { learn } from '../instance/learn.ts'
import { replicaOfEpoch3 } from '../testing.ts'
import { aFolder } from './testing-backups.ts'
import {
  all,
  firstMs,
  fiveBackups,
  hourMs,
  nameOf,
  pieceBehind,
  putManifest,
  putText,
  retaining,
} from './testing-retention.ts'

/** Names of whole backups, and of all that has any object. */
const left = ({ objects }: MemoryStore) => ({
  whole: [...objects.keys()].filter((key) => key.endsWith('manifest.json')).map((key) => key.split('/')[2]),
  any: [...new Set([...objects.keys()].flatMap((key) => key.split('/')[2] ?? []))],
})
const two = { whole: [nameOf(3), nameOf(4)], any: [nameOf(3), nameOf(4)] }
const notices = ({
  notices: { list },
}: {
  readonly notices: { readonly list: readonly { readonly code: string; readonly sentence: Heard }[] }
}) => list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)

describe('Retention', () => {
  it('deletes what the rule leaves and what did not finish, and tells of each', async () => {
    const store = fiveBackups()
    const { parts, turn } = await retaining(store)
    await turn()
    expect(left(store)).toEqual(two)
    const told = notices(parts)
    expect(told).toHaveLength(4)
    expect(told.filter((line) => line.includes('is beyond what stays'))).toHaveLength(3)
    expect(told.join('\n')).toContain('did not finish')
  })

  it('leaves a backup whole that the store locks, says so, and deletes the others', async () => {
    const store = fiveBackups()
    for (const key of store.objects.keys()) if (key.includes(`/${nameOf(1)}/`)) store.locked.add(key)
    const { parts, turn } = await retaining(store)
    await turn()
    expect(left(store).whole).toEqual([nameOf(1), ...two.whole])
    expect([...store.objects.keys()].filter((key) => store.locked.has(key))).toHaveLength(4)
    expect(notices(parts).join('\n')).toMatch(/BackupsKept: .* the store still locks 4 objects of that/)
    expect(notices(parts).filter((line) => line.startsWith('BackupRemoved'))).toHaveLength(3)
  })

  it('leaves a backup that the store locks its binary logs too, and deletes those that are older', async () => {
    const store = fiveBackups()
    for (const at of all) {
      putManifest(store, at, `${sourceA}:1-${(at + 1) * 100}`)
      putText(store, pieceBehind(at), 'piece')
    }
    store.locked.add(keyOf({ kind: 'manifest', cluster: 'shop', name: nameOf(1) }))
    const { turn, later } = await retaining(store)
    const pieces = () => all.filter((at) => store.objects.has(pieceBehind(at)))
    await turn()
    expect(left(store).whole).toEqual([nameOf(1), ...two.whole])
    expect(pieces()).toEqual([2, 3, 4])
    store.locked.clear()
    await later(6 * hourMs)
    expect(left(store).whole).toEqual(two.whole)
    expect(pieces()).toEqual([4])
  })

  it('deletes again once there is a new backup, or after some hours, and not before', async () => {
    const store = fiveBackups()
    const { turn, later } = await retaining(store)
    await turn()
    const before = new Map(store.objects)
    for (const [key, bytes] of fiveBackups().objects) store.objects.set(key, bytes)
    await later(60_000)
    expect(store.objects.size).toBeGreaterThan(before.size)
    await later(6 * hourMs)
    expect(left(store)).toEqual(two)
    const name = nameOf(9)
    const times = {
      startedAtMs: firstMs + 9 * hourMs,
      endedAtMs: firstMs + 9 * hourMs,
      storedAtMs: firstMs + 10 * hourMs,
    }
    store.objects.set(
      keyOf({ kind: 'manifest', cluster: 'shop', name }),
      Buffer.from(manifestText(aManifest({ ...times, name }))),
    )
    await later(60_000)
    expect(left(store).whole).toEqual([nameOf(4), name])
  })

  it('removes a run that did not finish also while no backup is whole: that run may be what fills the store', async () => {
    const store = fiveBackups()
    for (const key of store.objects.keys()) if (key.endsWith('manifest.json')) store.objects.delete(key)
    // A full store takes nothing newer, by which the age of the run would be known.
    store.modifiedMs.clear()
    const { turn, later } = await retaining(store)
    await turn()
    await later(12 * hourMs)
    expect(store.objects.size).toBeGreaterThan(1)
    await later(12 * hourMs)
    expect([...store.objects.keys()]).toEqual(['shop/owner.json'])
  })

  it('takes no run that is under way for one that did not finish, however far ahead the clock of the primary is', async () => {
    const store = fiveBackups()
    store.modifiedMs.clear()
    const { turn, later } = await retaining(store)
    const begun = keyOf({ kind: 'begun', cluster: 'shop', name: backupName(firstMs - hourMs) })
    for (let hours = 0; hours < 48; hours += 6) {
      store.modifiedMs.set(begun, hours + 1)
      await (hours === 0 ? turn() : later(6 * hourMs))
    }
    expect(store.objects.has(begun)).toBe(true)
  })

  it('gives up what no writer ended, of backups and of the archive, once that is a day old', async () => {
    const folder = await aFolder()
    const store = await FolderStore.open(folder)
    for (const [key, bytes] of fiveBackups().objects) await store.putIfAbsent(key, bytes)
    const draft = async (path: string, hoursAgo: number) => {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, `${path}~0123456789abcdef`), 'a part of that')
      const at = new Date(firstMs + (100 - hoursAgo) * hourMs)
      await utimes(join(folder, `${path}~0123456789abcdef`), at, at)
    }
    const [ofBackup, ofArchive, underWay] = [`shop/base/${nameOf(3)}/part-000003`, 'shop/binlog/a', 'shop/binlog/b']
    for (const path of [ofBackup, ofArchive]) await draft(path, 25)
    await draft(underWay, 1)
    const { turn } = await retaining(store)
    await turn()
    const files = (await readdir(folder, { recursive: true })).filter((path) => path.includes('~'))
    expect(files).toEqual([`${underWay}~0123456789abcdef`])
  })

  it('deletes nothing beside a manifest of a newer Regent', async () => {
    const store = fiveBackups()
    const key = keyOf({ kind: 'manifest', cluster: 'shop', name: nameOf(0) })
    const newer = String(store.objects.get(key)).replace('"formatVersion": 1', '"formatVersion": 3')
    store.objects.set(key, Buffer.from(newer))
    const before = new Map(store.objects)
    const { parts, turn } = await retaining(store)
    await turn()
    expect(store.objects).toEqual(before)
    expect(notices(parts).join()).toContain(
      'BackupsKept: nothing is deleted: manifest of 20261120T030000Z is of a newer Regent',
    )
  })

  it('keeps a backup whose manifest was changed, and deletes the others', async () => {
    const store = fiveBackups()
    store.objects.set(keyOf({ kind: 'manifest', cluster: 'shop', name: nameOf(0) }), Buffer.from('nonsense'))
    const { turn } = await retaining(store)
    await turn()
    expect(left(store).any).toEqual([nameOf(0), ...two.any])
  })

  it.each<[string, string | undefined]>([
    ['in the folder of another cluster of that name', 'ffeeddccbbaa9988'],
    ['in a folder that nobody claimed', undefined],
  ])('deletes nothing %s', async (_, whose) => {
    const store = fiveBackups(whose)
    if (whose === undefined) store.objects.delete(keyOf({ kind: 'owner', cluster: 'shop' }))
    const before = new Map(store.objects)
    const { turn } = await retaining(store)
    await turn()
    expect(store.objects).toEqual(before)
  })

  it('is of the primary alone, and of one that hears a manager that leads', async () => {
    const store = fiveBackups()
    const before = new Map(store.objects)
    await (await retaining(store, { assignment: replicaOfEpoch3 })).turn()
    const cutOff = await retaining(store)
    learn(cutOff.parts, { fact: 'converged', done: false })
    await cutOff.turn()
    learn(cutOff.parts, { fact: 'converged', done: true })
    cutOff.passes(60_000)
    await cutOff.retention?.look()
    expect(store.objects).toEqual(before)
    await cutOff.turn()
    expect(left(store)).toEqual(two)
  })

  it('that a store refuses is told once, and is tried again after ten minutes', async () => {
    const store = fiveBackups()
    const remove = store.delete.bind(store)
    let tries = 0
    store.delete = async () => {
      tries += 1
      throw new Error('the object is locked')
    }
    const { parts, turn, later } = await retaining(store)
    await turn()
    await later(300_000)
    await later(300_000)
    expect(tries).toBe(2)
    expect(notices(parts)).toEqual([
      'BackupsNotRemoved: backups that need not stay could not be deleted: the object is locked',
    ])
    store.delete = remove
    await later(600_000)
    expect(left(store)).toEqual(two)
  })
})
