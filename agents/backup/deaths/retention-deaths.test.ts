import { describe, expect, it } from 'vitest'
import {
  all,
  fiveBackups,
  nameOf,
  pieceBehind,
  putManifest,
  putProof,
  putText,
  retaining,
} from '#agents/backup/testing-retention.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { openingText } from '#backup/objects/opening.ts'
import { sourceA } from '#backup/objects/testing.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import type { MemoryStore } from '#object-store/testing-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

/** Behind each backup is a piece with a hundred transactions. */
const upTo = (at: number) => (at === 0 ? '' : `${sourceA}:1-${at * 100}`)

/** Five whole backups, the second of them verified, the archive behind the first, and a run that did not finish. */
function aStore(): MemoryStore {
  const store = fiveBackups()
  const opening = { epoch: 1, instance: 'shop-0', atMs: 1, gtids: upTo(0) }
  putText(store, keyOf({ kind: 'opening', cluster: 'shop', epoch: 1 }), openingText(opening))
  for (const at of all) {
    putManifest(store, at, upTo(at))
    putText(store, pieceBehind(at), 'piece')
  }
  putProof(store, nameOf(1))
  return store
}

/** A primary that hears a manager, and whose rule leaves the two newest backups. */
async function sweeps(store: MemoryStore, life = new Life()) {
  const { turn } = await retaining(life.storing(store))
  return life.lives(turn)
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
      putProof(store, nameOf(4))
      const end = await sweeps(store, life)
      expect(await wholeIn(store), `death ${at}`).toEqual(expect.arrayContaining([3, 4]))
      await sweeps(store)
      expect(await wholeIn(store), `death ${at}`).toEqual([3, 4])
      expect(traces(store), `death ${at}`).toEqual({ backups: [3, 4].map(nameOf), pieces: [3, 4] })
      return end
    })
  })
})
