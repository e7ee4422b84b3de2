import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CellName } from './cells.ts'
import { after, itKeepsTheContract, itNamesWhatIsDamaged, itTakesADamagedLease, shop } from './contract.ts'
import { itSettlesWhoLeads } from './leadership-contract.ts'
import { fileStore } from './file.ts'

describe('The file store', () => {
  const two = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
    return { first: fileStore(folder), second: fileStore(folder), end: () => rm(folder, { recursive: true }) }
  }
  itKeepsTheContract(two)
  itSettlesWhoLeads(two)
  const damaged = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
    const damage = async (name: CellName, text: string): Promise<void> => {
      const files = (await readdir(join(folder, name))).filter((file) => file.endsWith('.json'))
      for (const file of files) await writeFile(join(folder, name, file), text)
    }
    return {
      store: fileStore(folder),
      damage,
      objectOf: (name: CellName) => join(folder, name),
      end: () => rm(folder, { recursive: true }),
    }
  }
  itNamesWhatIsDamaged(damaged)
  itTakesADamagedLease(damaged)

  it('takes a lease whose folder has lost its head', async () => {
    const store = fileStore(folder)
    await store.lead('a', 60_000)
    const cell = join(folder, 'leader')
    for (const file of await readdir(cell)) if (file.endsWith('.head')) await rm(join(cell, file))
    expect(await store.lead('b', 60_000)).toMatchObject({ manager: 'b' })
  })

  it('begins recoveries anew whose folder has lost its head', async () => {
    const store = fileStore(folder)
    const recovery = {
      id: 'r1',
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
    const ids = async () => (await store.readNotes('shop')).recoveries.map(({ id }) => id)
    await store.updateNotes('shop', (notes) => ({ ...notes, recoveries: [recovery] }))
    const cell = join(folder, 'recoveries.shop')
    for (const file of await readdir(cell)) if (file.endsWith('.head')) await rm(join(cell, file))
    expect(await ids()).toEqual([])
    await store.updateNotes('shop', (notes) => ({ ...notes, recoveries: [{ ...recovery, id: 'r2' }] }))
    expect(await ids()).toEqual(['r2'])
  })

  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('makes its folder with the first write, and not before', async () => {
    const store = fileStore(join(folder, 'deep', 'er'))
    expect(await store.readRecord('shop')).toBeUndefined()
    expect(await readdir(folder)).toEqual([])
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    expect(await fileStore(join(folder, 'deep', 'er')).readRecord('shop')).toEqual(shop)
  })

  it('leaves nothing behind but the newest text and its head', async () => {
    const store = fileStore(folder)
    await store.compareAndSwap('shop', 0, shop)
    await store.compareAndSwap('shop', 1, after(shop))
    await store.compareAndSwap('shop', 2, after(after(shop)))
    expect(await readdir(folder)).toEqual(['record.shop'])
    const files = (await readdir(join(folder, 'record.shop'))).sort()
    expect(files.map((name) => name.replace(/-.*\./, '.'))).toEqual(['3.head', '3.json'])
  })

  it('is not disturbed by what managers that were killed left behind, and clears it away', async () => {
    await mkdir(join(folder, '.record.shop.1-000000000000.new'))
    const store = fileStore(folder)
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    await writeFile(join(folder, 'record.shop', '2-000000000000.json'), 'half of a tex')
    expect(await store.readRecord('shop')).toEqual(shop)
    expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
    expect(await store.compareAndSwap('shop', 2, after(after(shop)))).toBe(true)
    expect(await readdir(folder)).toEqual(['record.shop'])
    expect(await readdir(join(folder, 'record.shop'))).toHaveLength(2)
  })

  it('refuses damaged files with their path, and does not write over them', async () => {
    const store = fileStore(folder)
    await store.compareAndSwap('shop', 0, shop)
    const cell = join(folder, 'record.shop')
    const text = (await readdir(cell)).find((name) => name.endsWith('.json')) ?? ''

    await writeFile(join(cell, text), Uint8Array.of(0xff, 0xfe))
    await expect(store.readRecord('shop')).rejects.toThrow(`${join(cell, text)} is not UTF-8 text`)
    await rm(join(cell, text))
    await expect(store.readRecord('shop')).rejects.toMatchObject({ code: 'REGENT_STORE_DAMAGED' })
    await rm(join(cell, text.replace('.json', '.head')))
    await expect(store.readRecord('shop')).rejects.toThrow(`${cell} is damaged`)
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({ code: 'REGENT_STORE_DAMAGED' })
  })

  it('that cannot write says so, with the path', async () => {
    await writeFile(join(folder, 'file'), '')
    const store = fileStore(join(folder, 'file', 'store'))
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toThrow(join(folder, 'file'))
  })
})
