import { describe, expect, it } from 'vitest'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { memoryStore, type MemoryCells } from '#store/memory.ts'
import type { Store } from '#store/store.ts'
import { NotesDesk } from './notes-desk.ts'

const wants = (instances: number) => (notes: ClusterNotes) => ({ ...notes, instances })
const failedOver = (notes: ClusterNotes) => ({ ...notes, lastFailoverWallMs: 7 })

/** A desk at a store that a test can have refuse, write without an answer or answer late; how often it was written. */
function desk() {
  const world = virtualWorld()
  const cells: MemoryCells = new Map()
  const memory = memoryStore({ cells })
  const seen = {
    ...{ mended: 0, writes: 0, failures: [] as unknown[] },
    ...{ refuses: false, isUnreadable: false, readsTakeMs: 0, writesTakeMs: 0, arrivesAfterMs: -1 },
  }
  const readNotes: Store['readNotes'] = async (cluster) => {
    if (seen.isUnreadable) throw new Error('no answer')
    const notes = await memory.readNotes(cluster)
    if (seen.readsTakeMs > 0) await world.timers.sleep(seen.readsTakeMs)
    return notes
  }
  const updateNotes: Store['updateNotes'] = async (cluster, change) => {
    seen.writes++
    if (seen.refuses) throw new Error('no answer')
    if (seen.writesTakeMs > 0) await world.timers.sleep(seen.writesTakeMs)
    if (seen.arrivesAfterMs < 0) return memory.updateNotes(cluster, change)
    world.timers.after(seen.arrivesAfterMs, () => void memory.updateNotes(cluster, change))
    throw new Error('no answer')
  }
  const notes = new NotesDesk({
    store: { updateNotes, readNotes },
    timers: world.timers,
    cluster: 'shop',
    failed: (error) => seen.failures.push(error),
    mended: () => void seen.mended++,
  })
  return { world, memory, cells, seen, notes, stored: () => memory.readNotes('shop') }
}

describe('notes that are damaged', () => {
  it('hold nobody up: this manager goes on with what it knew, says which object it is and the cure, once, and takes them when they are mended', async () => {
    const { world, cells, seen, notes } = desk()
    await notes.change(wants(5))
    await notes.read()
    const sound = cells.get('notes.shop')
    cells.set('notes.shop', { revision: 7, text: '{"version":1,"paused":' })
    await notes.read()
    await notes.read()
    expect(notes.notes.instances).toBe(5)
    expect(notes.damage).toMatch(
      /^the notes of shop, notes\.shop in memory, cannot be used: .* is not JSON.*they begin anew with: /,
    )
    expect(seen.failures).toHaveLength(1)
    if (sound) cells.set('notes.shop', sound)
    await world.advance(5_000)
    expect([notes.damage, seen.mended]).toEqual(['', 1])
  })

  it('are not written over by a change', async () => {
    const { cells, notes } = desk()
    cells.set('notes.shop', { revision: 7, text: '' })
    await expect(notes.change(wants(3))).rejects.toMatchObject({ code: 'REGENT_STORE_DAMAGED' })
    expect(cells.get('notes.shop')).toEqual({ revision: 7, text: '' })
  })
})

describe('changes of notes', () => {
  it('that come while one is written are written together', async () => {
    const { seen, notes, stored } = desk()
    await Promise.all([notes.change(wants(3)), notes.change(failedOver), notes.change(wants(5))])
    expect(seen.writes).toBeLessThan(3)
    expect(await stored()).toMatchObject({ instances: 5, lastFailoverWallMs: 7 })
    expect(notes.notes).toEqual(await stored())
  })

  it('that nobody waits for hold at once and are written a moment later', async () => {
    const { world, seen, notes, stored } = desk()
    notes.changeSoon(failedOver)
    expect(notes.notes.lastFailoverWallMs).toBe(7)
    await world.advance(999)
    expect(seen.writes).toBe(0)
    await world.advance(1)
    expect(await stored()).toMatchObject({ lastFailoverWallMs: 7 })
  })

  it('that wait hold on when the notes are read, and go with whatever is written before', async () => {
    const { memory, world, seen, notes, stored } = desk()
    notes.changeSoon(failedOver)
    await memory.updateNotes('shop', wants(4))
    await notes.read()
    expect(notes.notes).toMatchObject({ instances: 4, lastFailoverWallMs: 7 })
    await notes.change(wants(3))
    expect(await stored()).toMatchObject({ instances: 3, lastFailoverWallMs: 7 })
    await world.advance(10_000)
    expect(seen.writes).toBe(1)
  })

  it('hold on while they are written, though the notes are read meanwhile', async () => {
    const { world, seen, notes, stored } = desk()
    seen.writesTakeMs = 100
    notes.changeSoon(failedOver)
    await world.advance(1_050)
    await notes.read()
    expect([notes.notes.lastFailoverWallMs, (await stored()).lastFailoverWallMs]).toEqual([7, null])
    await world.advance(50)
    expect([notes.notes.lastFailoverWallMs, (await stored()).lastFailoverWallMs]).toEqual([7, 7])
  })

  it('are written in their time, however soon others follow', async () => {
    const { world, notes, stored } = desk()
    for (let instances = 1; instances <= 3; instances++) {
      notes.changeSoon(wants(instances))
      await world.advance(900)
    }
    expect(await stored()).toMatchObject({ instances: 2 })
  })

  it('that the store did not take are tried again, where nobody waits for them', async () => {
    const { world, seen, notes, stored } = desk()
    seen.refuses = true
    notes.changeSoon(failedOver)
    await expect(notes.change(wants(3))).rejects.toThrow('no answer')
    await world.advance(2_000)
    expect(seen.failures).toHaveLength(1)
    seen.refuses = false
    await world.advance(2_000)
    expect(await stored()).toEqual({ ...emptyNotes, lastFailoverWallMs: 7 })
  })

  it.each([0, 6_000])(
    'that the store took %i ms after it should have answered are seen, and the loop is told to look',
    async (arrivesAfterMs) => {
      const { world, seen, notes } = desk()
      seen.arrivesAfterMs = arrivesAfterMs
      await expect(notes.change(wants(4))).rejects.toThrow('no answer')
      await world.advance(arrivesAfterMs)
      const told = seen.mended
      await world.advance(5_000)
      expect(notes.notes.instances).toBe(4)
      expect(seen.mended).toBeGreaterThan(told)
    },
  )

  it('that were not answered are looked for until the store can be read', async () => {
    const { world, seen, notes } = desk()
    seen.arrivesAfterMs = 0
    await expect(notes.change(wants(4))).rejects.toThrow('no answer')
    seen.isUnreadable = true
    await world.advance(300_000)
    seen.isUnreadable = false
    await world.advance(30_000)
    expect(notes.notes.instances).toBe(4)
  })

  it('are not forgotten for a read that began before them and is answered after them', async () => {
    const { world, seen, notes } = desk()
    seen.readsTakeMs = 100
    const read = notes.read()
    await world.settle()
    await notes.change(wants(4))
    await world.advance(200)
    await read
    expect(notes.notes.instances).toBe(4)
  })

  it('end with the loop, and so does the look for one that was not answered', async () => {
    const { world, seen, notes } = desk()
    notes.changeSoon(failedOver)
    seen.arrivesAfterMs = 0
    const late = notes.change(wants(4))
    notes.stop()
    await expect(late).rejects.toThrow('no answer')
    await world.advance(10_000)
    expect([seen.writes, seen.mended, world.pending]).toEqual([1, 0, 0])
  })

  it('end with the loop also where the store answers a write later, or something ends later', async () => {
    const { world, seen, notes } = desk()
    Object.assign(seen, { writesTakeMs: 100, arrivesAfterMs: 0 })
    notes.changeSoon(failedOver)
    await world.advance(1_000)
    notes.stop()
    await world.advance(100)
    notes.changeSoon(wants(4))
    await world.advance(60_000)
    expect([seen.writes, seen.mended, world.pending]).toEqual([1, 0, 0])
  })
})
