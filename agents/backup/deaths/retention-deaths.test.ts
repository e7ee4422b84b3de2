import { describe, expect, it } from 'vitest'
import { RetentionWatch } from '#agents/backup/retention-watch.ts'
import { StoreWatch } from '#agents/backup/store-watch.ts'
import { lineage } from '#agents/backup/testing-backups.ts'
import { learn } from '#agents/instance/learn.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts, watcherOf } from '#agents/testing.ts'
import { backupName } from '#backup/objects/backup-name.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { manifestText } from '#backup/objects/manifest.ts'
import { openingText } from '#backup/objects/opening.ts'
import { ownerText } from '#backup/objects/owner.ts'
import { aManifest, aPiece, sourceA } from '#backup/objects/testing.ts'
import { verificationText } from '#backup/objects/verification.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

const hourMs = 3_600_000
const firstMs = Date.parse('2026-11-20T03:00:00Z')
/** A backup of each hour, the oldest first, and behind each a piece with a hundred transactions. */
const nameOf = (at: number) => backupName(firstMs + at * hourMs)
const upTo = (at: number) => (at === 0 ? '' : `${sourceA}:1-${at * 100}`)
const all = [0, 1, 2, 3, 4]
const pieceBehind = (at: number) =>
  keyOf({
    kind: 'piece',
    cluster: 'shop',
    piece: aPiece({ from: at * 100 + 1, to: (at + 1) * 100, preceding: at * 100 }),
  })

/** Five whole backups, the second of them verified, the archive behind the first, and a run that did not finish. */
function aStore(): MemoryStore {
  const store = new MemoryStore()
  const put = (key: string, text: string) => void store.objects.set(key, Buffer.from(text))
  const owner = { formatVersion: 1, cluster: 'shop', claimedAtMs: 0, lineage } as const
  put(keyOf({ kind: 'owner', cluster: 'shop' }), ownerText(owner))
  const opening = { epoch: 1, instance: 'shop-0', atMs: 1, gtids: upTo(0) }
  put(keyOf({ kind: 'opening', cluster: 'shop', epoch: 1 }), openingText(opening))
  for (const at of all) {
    const name = nameOf(at)
    put(keyOf({ kind: 'begun', cluster: 'shop', name }), '{}')
    for (const part of [1, 2]) put(keyOf({ kind: 'part', cluster: 'shop', name, part }), 'data')
    const startedAtMs = firstMs + at * hourMs
    const times = { startedAtMs, endedAtMs: startedAtMs + 60_000, storedAtMs: startedAtMs + 90_000 }
    const manifest = aManifest({ ...times, name, gtids: upTo(at) })
    put(keyOf({ kind: 'manifest', cluster: 'shop', name }), manifestText(manifest))
    put(pieceBehind(at), 'piece')
  }
  put(keyOf({ kind: 'begun', cluster: 'shop', name: backupName(firstMs - hourMs) }), '{}')
  prove(store, 1)
  return store
}

function prove(store: MemoryStore, at: number): void {
  const name = nameOf(at)
  const proof = { verifiedAtMs: 1, restoreMs: 1, gtids: '', reachedMs: 1, tables: 1, rows: 1 }
  const text = verificationText({ formatVersion: 1, ...proof }, { cluster: 'shop', lineage, name, key: null })
  store.objects.set(keyOf({ kind: 'verified', cluster: 'shop', name }), Buffer.from(text))
}

/** A primary that hears a manager, and whose rule leaves the two newest backups. */
async function sweeps(store: MemoryStore, life = new Life()) {
  const parts = await testParts(new ScriptedServer(aServerState()))
  const clock = { monotonicMs: () => 1_000, wallMs: () => firstMs + 100 * hourMs }
  Object.assign(parts, { world: { ...realWorld, clock } })
  await parts.file.update({ promise: 3, assignment: primaryOfEpoch3 })
  const retention = { last: 2, days: 0, weeks: 0 }
  const task = { store: { address: 'memory' }, retention, archive: { everySeconds: 5 } }
  learn(parts, { fact: 'backupsTold', task })
  learn(parts, { fact: 'converged', done: true })
  learn(parts, { fact: 'leaderHeard', atMs: 1_000 })
  const port = { lineage, open: async () => ({ store: life.storing(store), key: null }) }
  return life.lives(async () => {
    for (const watch of [new StoreWatch(parts, port), new RetentionWatch(parts, port)])
      await watcherOf(parts, watch).look()
  })
}

/** Whole backups, each of which has all its parts, and is followed to the end of the archive. */
async function wholeIn(store: MemoryStore): Promise<readonly number[]> {
  const archive = await readArchive(store, 'shop')
  for (const { backup, steps } of chainsOf(archive)) {
    const parts = [1, 2].map((part) => keyOf({ kind: 'part', cluster: 'shop', name: backup.name, part }))
    expect([...store.objects.keys()]).toEqual(expect.arrayContaining(parts))
    const reached = steps.reduce((sum, { gtids }) => sum.union(gtids), GtidSet.parse(backup.gtids))
    expect(reached.toString(), backup.name).toBe(upTo(all.length))
  }
  return all.filter((at) => archive.manifests.some(({ name }) => name === nameOf(at)))
}

/** Backups and pieces of which any object is there. */
const traces = ({ objects }: MemoryStore) => ({
  backups: [...new Set([...objects.keys()].flatMap((key) => (/^shop\/base\//.test(key) ? key.split('/')[2] : [])))],
  pieces: all.filter((at) => objects.has(pieceBehind(at))),
})

describe('Retention whose agent dies at any step', () => {
  it.each(moments)('%s keeps all that stays whole, and the next one finds the rest', async (_, isDone) => {
    const deaths = await atEachStep(isDone, async (life, at) => {
      const store = aStore()
      const end = await sweeps(store, life)
      expect(await wholeIn(store), `death ${at}`).toEqual(expect.arrayContaining([1, 3, 4]))
      await sweeps(store)
      expect(await wholeIn(store), `death ${at}`).toEqual([1, 3, 4])
      expect(traces(store), `death ${at}`).toEqual({
        backups: [1, 3, 4].map(nameOf).toSorted(),
        pieces: [1, 2, 3, 4],
      })
      return end
    })
    // Two backups of four objects, what did not finish, and a piece.
    expect(deaths).toBeGreaterThanOrEqual(10)
  })

  it.each(moments)('%s leaves the last verified backup its place until another one is verified', async (_, isDone) => {
    await atEachStep(isDone, async (life, at) => {
      const store = aStore()
      await sweeps(store)
      prove(store, 4)
      const end = await sweeps(store, life)
      expect(await wholeIn(store), `death ${at}`).toEqual(expect.arrayContaining([3, 4]))
      await sweeps(store)
      expect(await wholeIn(store), `death ${at}`).toEqual([3, 4])
      expect(traces(store), `death ${at}`).toEqual({ backups: [3, 4].map(nameOf), pieces: [3, 4] })
      return end
    })
  })
})
