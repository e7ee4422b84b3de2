import { describe, expect, it } from 'vitest'
import { BinlogArchiver } from '#agents/backup/archive/binlog-archiver.ts'
import { aPrimary, portTo, range, withBackup } from '#agents/backup/archive/testing-archiver.ts'
import { primaryOfEpoch3 } from '#agents/testing.ts'
import { keyOf, parseKey } from '#backup/objects/object-key.ts'
import { gtidsOf } from '#backup/objects/piece-name.ts'
import { planOf } from '#backup/transfer/plan-from-store.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { uuid } from '#test/support/synthetic-binlog.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

/** A store that tells which pieces got other bytes under the name that they had. */
class Archive extends MemoryStore {
  readonly changed: string[] = []

  override async put(key: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    const before = this.objects.get(key)
    const bytes = await super.put(key, content)
    if (before !== undefined && parseKey(key)?.kind === 'piece' && !this.objects.get(key)?.equals(before))
      this.changed.push(key)
    return bytes
  }
}

type Primary = Awaited<ReturnType<typeof aPrimary>>

/** An agent of that instance begins and ships what its server executed. */
async function ships({ parts }: Primary, store: MemoryStore, life = new Life()) {
  const file = life.living(parts.file, ['update'])
  const port = { ...portTo(store), open: async () => ({ store: life.storing(store), key: null }) }
  return life.lives(() => new BinlogArchiver({ ...parts, file }, port).look())
}

/** All transactions that are in whole pieces, each of which holds what its name says. */
async function shippedIn(store: Archive): Promise<string> {
  let all = GtidSet.empty
  for (const piece of (await readArchive(store, 'shop')).pieces) {
    for await (const { bytes } of readPiece({ store, cluster: 'shop', lineage: null, piece, key: null }))
      expect(bytes.length).toBeGreaterThan(0)
    all = all.union(gtidsOf(piece))
  }
  expect(store.changed).toEqual([])
  return all.toString()
}

/** Nobody's transactions are passed over, wherever the archive ends. */
async function restorable(store: Archive): Promise<string> {
  const { steps, backup } = await planOf({ of: 'shop' }, { store, key: null }, '9.7.0')
  return steps.reduce((all, { gtids }) => all.union(gtids), GtidSet.parse(backup.gtids)).toString()
}

describe('Shipping whose agent dies at any step', () => {
  it.each(moments)('%s loses no piece, and gives no piece other bytes', async (_, isDone) => {
    const [whole, seen] = [`${uuid}:1-14`, new Set<string>()]
    const deaths = await atEachStep(isDone, async (life, at) => {
      const store = new Archive()
      await withBackup(store, 2)
      const first = await aPrimary(store)
      await first.has([range(1, 4), range(5, 8), range(9, 10)], 10)
      const end = await ships(first, store, life)
      const there = await shippedIn(store)
      seen.add(there)
      // A gap in what is there would be passed over by nobody: it ends the restore.
      expect(GtidSet.parse(await restorable(store)).contains(GtidSet.parse(there)), `death ${at}`).toBe(true)

      // The same instance goes on, and executes more.
      await first.has([range(1, 4), range(5, 8), range(9, 12), range(13, 14)], 14)
      await ships(first, store)
      expect(await shippedIn(store), `death ${at}`).toBe(`${uuid}:3-14`)
      expect(await restorable(store), `death ${at}`).toBe(whole)
      const before = [...store.objects.keys()]
      await ships(first, store)
      expect([...store.objects.keys()], `death ${at}`).toEqual(before)
      return end
    })
    expect(deaths).toBeGreaterThan(5)
    expect(seen.size).toBeGreaterThan(3)
  })

  it.each(moments)('%s, while another instance takes its place, leaves no hole', async (_, isDone) => {
    await atEachStep(isDone, async (life, at) => {
      const store = new Archive()
      await withBackup(store, 2)
      const first = await aPrimary(store)
      await first.has([range(1, 4), range(5, 8)], 8)
      await ships(first, store)
      // Both ship at the same time: the first one knows nothing of the next epoch yet.
      const second = await aPrimary(store, 4)
      await second.parts.file.update({ volume: 'ffffff', assignment: { ...primaryOfEpoch3, epoch: 4 } })
      await Promise.all([first, second].map((each) => each.has([range(1, 4), range(5, 8), range(9, 12)], 12)))
      const [end] = await Promise.all([ships(second, store, life), ships(first, store)])
      await ships(second, store)
      expect(await shippedIn(store), `death ${at}`).toBe(`${uuid}:3-12`)
      expect(await restorable(store), `death ${at}`).toBe(`${uuid}:1-12`)
      expect(store.objects.has(keyOf({ kind: 'opening', cluster: 'shop', epoch: 4 }))).toBe(true)
      return end
    })
  })
})
