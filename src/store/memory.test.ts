import { describe, expect, it } from 'vitest'
import { emptyNotes } from '#failover/protocol/notes.ts'
import type { CellName } from './cells.ts'
import { itKeepsTheContract, itNamesWhatIsDamaged, itTakesADamagedLease, shop, after } from './contract.ts'
import { itSettlesWhoLeads } from './leadership-contract.ts'
import { memoryStore, type MemoryCells } from './memory.ts'

describe('The memory store', () => {
  const two = () => {
    const cells: MemoryCells = new Map()
    return Promise.resolve({
      first: memoryStore({ cells }),
      second: memoryStore({ cells }),
      end: () => Promise.resolve(),
    })
  }
  itKeepsTheContract(two)
  itSettlesWhoLeads(two)
  const damaged = () => {
    const cells: MemoryCells = new Map()
    const damage = async (name: CellName, text: string): Promise<void> =>
      void cells.set(name, { revision: cells.get(name)?.revision ?? 1, text })
    return Promise.resolve({
      store: memoryStore({ cells }),
      damage,
      objectOf: (name: CellName) => `${name} in memory`,
      end: () => Promise.resolve(),
    })
  }
  itNamesWhatIsDamaged(damaged)
  itTakesADamagedLease(damaged)

  it('keeps recoveries apart from the notes, moves those that an older manager wrote into them, and begins damaged ones anew', async () => {
    const cells: MemoryCells = new Map()
    const store = memoryStore({ cells })
    const old = {
      id: 'old',
      kind: 'failover',
      startedWallMs: 1,
      analysis: '',
      sentence: '',
      from: null,
      to: null,
      fromEpoch: 1,
      toEpoch: 2,
      outcome: 'succeeded',
      timeline: [],
    } as const
    cells.set('notes.shop', { revision: 3, text: JSON.stringify({ ...emptyNotes, recoveries: [old] }) })
    const ids = async () => (await store.readNotes('shop')).recoveries.map(({ id }) => id)
    expect(await ids()).toEqual(['old'])
    await store.updateNotes('shop', (notes) => ({ ...notes, recoveries: [{ ...old, id: 'new' }, ...notes.recoveries] }))
    expect(await ids()).toEqual(['new', 'old'])
    expect(JSON.parse(cells.get('notes.shop')?.text ?? '')).toEqual(emptyNotes)
    const before = cells.get('notes.shop')
    await store.updateNotes('shop', (notes) => ({
      ...notes,
      recoveries: [{ ...old, id: 'newer' }, ...notes.recoveries],
    }))
    expect(cells.get('notes.shop')).toBe(before)
    cells.set('recoveries.shop', { revision: 2, text: 'half' })
    expect(await ids()).toEqual([])
    await store.updateNotes('shop', (notes) => ({ ...notes, recoveries: [old], instances: 4 }))
    expect([await ids(), (await store.readNotes('shop')).instances]).toEqual([['old'], 4])
    cells.set('recoveries.shop', { revision: 9, text: '{"version":99}' })
    await store.updateNotes('shop', (notes) => ({ ...notes, instances: 5, recoveries: [{ ...old, id: 'lost' }] }))
    expect(cells.get('recoveries.shop')?.revision).toBe(9)
    expect((await store.readNotes('shop')).instances).toBe(5)
  })

  it('that fails before a write has written nothing', async () => {
    const cells: MemoryCells = new Map()
    const failing = memoryStore({
      cells,
      before: ({ kind }) => (kind === 'swap' ? Promise.reject(new Error('cable cut')) : Promise.resolve()),
    })
    await expect(failing.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    expect(await failing.readRecord('shop')).toBeUndefined()
  })

  it('that fails after a write rejects, and a new read finds what was written', async () => {
    const cells: MemoryCells = new Map()
    const failing = memoryStore({
      cells,
      after: ({ kind }) => (kind === 'swap' ? Promise.reject(new Error('cable cut')) : Promise.resolve()),
    })
    await expect(failing.compareAndSwap('shop', 0, shop)).rejects.toThrow(
      'memory store: writing the record of shop: cable cut',
    )
    expect(await failing.readRecord('shop')).toEqual(shop)
  })

  it('that answers too late rejects at its deadline and writes nothing afterwards', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const cells: MemoryCells = new Map()
    const slow = memoryStore({ cells, deadlineMs: 30, before: () => held })
    await expect(slow.compareAndSwap('shop', 0, shop)).rejects.toThrow('no answer within 30 ms')
    letGo()
    await held
    expect(await memoryStore({ cells }).readRecord('shop')).toBeUndefined()
  })

  it('gives up an update of notes that somebody always overtakes', async () => {
    const cells: MemoryCells = new Map()
    const overtaken = memoryStore({
      cells,
      before: async ({ kind, name }) => {
        const cell = cells.get(name)
        if (kind === 'swap')
          cells.set(name, {
            revision: (cell?.revision ?? 0) + 1,
            text:
              cell?.text ??
              '{"version":1,"paused":null,"fenced":[],"instances":null,"lastFailoverWallMs":null,"incarnations":{},"recoveries":[]}',
          })
      },
    })
    await expect(overtaken.updateNotes('shop', (notes) => ({ ...notes, instances: 3 }))).rejects.toMatchObject({
      code: 'REGENT_STORE_CONFLICT',
    })
  })

  it('refuses a record that stands under another name or revision than its own', async () => {
    const cells: MemoryCells = new Map()
    const store = memoryStore({ cells })
    cells.set('record.mall', { revision: 1, text: JSON.stringify(shop) })
    await expect(store.readRecord('mall')).rejects.toThrow('cluster is "shop"; it must be "mall"')
    cells.set('record.shop', { revision: 1, text: JSON.stringify(after(shop)) })
    await expect(store.readRecord('shop')).rejects.toThrow('revision is 2, and it was stored as 1')
  })
})
