import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyNotes, recoveriesKept, type ClusterNotes, type HookRun, type Recovery } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { CellName } from './cells.ts'
import type { LeadingStore, Store } from './store.ts'

/** Two stores on the same place, as two managers have them. */
export interface TwoStores<Kind extends Store = Store> {
  readonly first: Kind
  readonly second: Kind
  readonly end: () => Promise<void>
}

export const shop: ClusterRecord = {
  version: 1,
  cluster: 'shop',
  epoch: 1,
  revision: 1,
  primary: 'shop-0@a0',
  syncSet: ['shop-1@b1', 'shop-2@c2'],
  leaving: ['shop-2@c2'],
  acks: 1,
  acksWanted: 1,
  intent: {
    kind: 'switchover',
    by: 'run-1',
    candidate: 'shop-1@b1',
    request: 'r1',
    deadlineWallMs: 1_700_000_000_000,
    reason: 'drain',
  },
}

export function after(record: ClusterRecord, change: Partial<ClusterRecord> = {}): ClusterRecord {
  return { ...record, revision: record.revision + 1, ...change }
}

export const recovery = (id: string): Recovery => ({
  id,
  kind: 'failover',
  startedWallMs: 1,
  analysis: '',
  sentence: id,
  from: null,
  to: null,
  fromEpoch: 1,
  toEpoch: 2,
  outcome: 'succeeded',
  timeline: [{ atMs: 1, what: 'noticed' }],
})

/** What every store does, whatever it is made of. */
export function itKeepsTheContract(open: () => Promise<TwoStores>): void {
  const stores = openEachTime(open)

  describe('records', () => {
    it('have none before the first', async () => {
      expect(await stores.first.readRecord('shop')).toBeUndefined()
    })

    it('are read by another manager exactly as they were written', async () => {
      expect(await stores.first.compareAndSwap('shop', 0, shop)).toBe(true)
      expect(await stores.second.readRecord('shop')).toEqual(shop)
      expect(await stores.second.compareAndSwap('shop', 1, after(shop, { epoch: 2, intent: null }))).toBe(true)
      expect(await stores.first.readRecord('shop')).toEqual({ ...shop, epoch: 2, revision: 2, intent: null })
    })

    it('begin at any revision where there is none, and only there', async () => {
      const rebuilt = { ...shop, revision: 41 }
      expect(await stores.first.compareAndSwap('shop', 0, rebuilt)).toBe(true)
      expect(await stores.second.compareAndSwap('shop', 0, { ...shop, revision: 77 })).toBe(false)
      expect(await stores.second.compareAndSwap('shop', 41, after(rebuilt))).toBe(true)
      expect((await stores.first.readRecord('shop'))?.revision).toBe(42)
    })

    it('are not replaced by who read an older revision or never read one', async () => {
      await stores.first.compareAndSwap('shop', 0, shop)
      await stores.first.compareAndSwap('shop', 1, after(shop))
      expect(await stores.second.compareAndSwap('shop', 1, after(shop, { acks: 0 }))).toBe(false)
      expect(await stores.second.compareAndSwap('shop', 7, { ...shop, revision: 8 })).toBe(false)
      expect(await stores.second.compareAndSwap('else', 3, { ...other('else'), revision: 4 })).toBe(false)
      expect(await stores.second.readRecord('shop')).toEqual(after(shop))
      expect(await stores.second.readRecord('else')).toBeUndefined()
    })

    it('have exactly one winner for each revision, also for the first', async () => {
      for (let revision = 0; revision < 6; revision++) {
        const tries = [0, 1, 2, 3, 4, 5].map((number) => ({ ...shop, revision: revision + 1, acksWanted: 1 + number }))
        const won = await Promise.all(
          tries.map((next, number) =>
            (number % 2 === 0 ? stores.first : stores.second).compareAndSwap('shop', revision, next),
          ),
        )
        expect(won.filter(Boolean)).toHaveLength(1)
        expect(await stores.first.readRecord('shop')).toEqual(tries[won.indexOf(true)])
      }
    })

    it('of one cluster do not touch those of another', async () => {
      await stores.first.compareAndSwap('shop', 0, shop)
      await stores.first.compareAndSwap('shop-2', 0, other('shop-2'))
      expect(await stores.second.compareAndSwap('shop-2', 1, after(other('shop-2')))).toBe(true)
      expect(await stores.second.readRecord('shop')).toEqual(shop)
    })

    it('that could not be read back are refused and nothing is written', async () => {
      await expect(
        stores.first.compareAndSwap('shop', 0, { ...shop, syncSet: ['shop-0@a0'], leaving: [] }),
      ).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
      await expect(stores.first.compareAndSwap('shop', 1, { ...shop, revision: 3 })).rejects.toMatchObject({
        code: 'REGENT_INTERNAL',
      })
      await expect(stores.first.compareAndSwap('shop', 0, other('else'))).rejects.toMatchObject({
        code: 'REGENT_INTERNAL',
      })
      expect(await stores.first.readRecord('shop')).toBeUndefined()
    })

    it.each(['', '../shop', 'Shop', 'shop/x', 'a'.repeat(40), '{shop}', 'shop.x'])(
      'of a cluster called %j are refused',
      async (cluster) => {
        await expect(stores.first.readRecord(cluster)).rejects.toMatchObject({ code: 'REGENT_BAD_NAME' })
        await expect(stores.first.compareAndSwap(cluster, 0, { ...shop, cluster })).rejects.toMatchObject({
          code: 'REGENT_BAD_NAME',
        })
        await expect(stores.first.updateNotes(cluster, (notes) => notes)).rejects.toMatchObject({
          code: 'REGENT_BAD_NAME',
        })
      },
    )
  })

  describe('notes', () => {
    it('are empty before the first update', async () => {
      expect(await stores.first.readNotes('shop')).toEqual(emptyNotes)
    })

    it('keep every update of managers that write at the same time', async () => {
      const updates = Array.from({ length: 16 }, (_, number) => number)
      await Promise.all(
        updates.map((number) =>
          (number % 2 === 0 ? stores.first : stores.second).updateNotes('shop', (notes) => ({
            ...notes,
            incarnations: { ...notes.incarnations, [`shop-${number}@v${number}`]: [`run-${number}`] },
          })),
        ),
      )
      const { incarnations } = await stores.second.readNotes('shop')
      expect(Object.keys(incarnations)).toHaveLength(updates.length)
    })

    it('resolve to what was written, and write nothing where nothing changed', async () => {
      const paused = await stores.first.updateNotes('shop', (notes) => ({
        ...notes,
        paused: { reason: 'upgrade', wallMs: 5 },
      }))
      expect(paused).toEqual({ ...emptyNotes, paused: { reason: 'upgrade', wallMs: 5 } })
      expect(await stores.second.updateNotes('shop', (notes) => notes)).toEqual(paused)
    })

    it('stay as they were when the change fails or makes something that is no notes', async () => {
      await expect(
        stores.first.updateNotes('shop', () => {
          throw new Error('not this time')
        }),
      ).rejects.toThrow('not this time')
      await expect(stores.first.updateNotes('shop', (notes) => ({ ...notes, instances: 17 }))).rejects.toMatchObject({
        code: 'REGENT_BAD_FILE',
      })
      expect(await stores.first.readNotes('shop')).toEqual(emptyNotes)
    })
  })

  describe('recoveries', () => {
    const filed =
      (id: string) =>
      (notes: ClusterNotes): ClusterNotes => ({
        ...notes,
        recoveries: [recovery(id), ...notes.recoveries].slice(0, recoveriesKept),
      })
    const idsIn = async (store: Store) => (await store.readNotes('shop')).recoveries.map(({ id }) => id)

    it('are read with the notes by any manager, newest first, each once, however many write at a time, and not more than are kept', async () => {
      await stores.first.updateNotes('shop', filed('first'))
      await stores.second.updateNotes('shop', (notes) => ({ ...notes, instances: 4 }))
      expect(await idsIn(stores.second)).toEqual(['first'])
      expect((await stores.first.readNotes('shop')).instances).toBe(4)
      await Promise.all(
        ['a', 'b', 'c', 'd'].map((id, number) =>
          (number % 2 === 0 ? stores.first : stores.second).updateNotes('shop', (notes) => ({
            ...filed(id)(notes),
            lastFailoverWallMs: number,
          })),
        ),
      )
      const ids = await idsIn(stores.first)
      expect(ids.toSorted()).toEqual(['a', 'b', 'c', 'd', 'first'])
      expect(ids.at(-1)).toBe('first')
      await stores.first.updateNotes('shop', (notes) =>
        Array.from({ length: 60 }, (_, number) => `r${number}`).reduce((before, id) => filed(id)(before), notes),
      )
      expect(await idsIn(stores.second)).toHaveLength(recoveriesKept)
    })

    it('are written again as one of their hooks begins: two managers never begin it both', async () => {
      const run: HookRun = {
        ...{ moment: 'failed', index: 0, hook: 'vip', state: 'due', by: '' },
        ...{ beganWallMs: null, ms: null, said: '' },
      }
      const hooked = { ...recovery('hooked'), hooks: { failureType: 'DeadPrimary', runs: [run] } }
      await stores.first.updateNotes('shop', (notes) => ({ ...notes, recoveries: [hooked] }))
      const isOurs: Record<string, boolean> = {}
      const begin = (by: string) => (notes: ClusterNotes) => {
        const [known] = notes.recoveries
        const isFree = (isOurs[by] = known?.hooks?.runs[0]?.state === 'due')
        const hooks = { failureType: '', runs: [{ ...run, state: 'running' as const, by }] }
        return known && isFree ? { ...notes, recoveries: [{ ...known, hooks }] } : notes
      }
      await Promise.all([
        stores.first.updateNotes('shop', begin('one')),
        stores.second.updateNotes('shop', begin('other')),
      ])
      const { recoveries } = await stores.second.readNotes('shop')
      const winners = Object.keys(isOurs).filter((by) => isOurs[by])
      expect(recoveries[0]?.hooks?.runs.map(({ by }) => by)).toEqual(winners)
    })

    it('are written again as they end', async () => {
      for (const outcome of ['running', 'succeeded'] as const)
        await stores.first.updateNotes('shop', (notes) => ({ ...notes, recoveries: [{ ...recovery('one'), outcome }] }))
      expect((await stores.second.readNotes('shop')).recoveries).toEqual([recovery('one')])
    })

    it('go with their cluster', async () => {
      await stores.first.updateNotes('shop', filed('first'))
      await stores.first.forget('shop')
      expect(await idsIn(stores.second)).toEqual([])
    })
  })

  describe('a cluster that is forgotten', () => {
    it('has no record and no notes for any manager, and may begin anew; others keep theirs', async () => {
      await stores.first.compareAndSwap('shop', 0, { ...shop, revision: 41 })
      await stores.first.updateNotes('shop', (notes) => ({ ...notes, paused: { reason: 'upgrade', wallMs: 5 } }))
      await stores.first.compareAndSwap('shop-2', 0, other('shop-2'))
      await stores.second.forget('shop')
      expect(await stores.first.readRecord('shop')).toBeUndefined()
      expect(await stores.first.readNotes('shop')).toEqual(emptyNotes)
      expect(await stores.first.readRecord('shop-2')).toEqual(other('shop-2'))
      expect(await stores.first.compareAndSwap('shop', 41, { ...shop, revision: 42 })).toBe(false)
      expect(await stores.first.compareAndSwap('shop', 0, shop)).toBe(true)
      expect(await stores.second.readRecord('shop')).toEqual(shop)
    })

    it('may be one that was never there', async () => {
      await stores.first.forget('shop')
      expect(await stores.first.readRecord('shop')).toBeUndefined()
      await expect(stores.first.forget('../shop')).rejects.toMatchObject({ code: 'REGENT_BAD_NAME' })
    })
  })
}

/** A store whose stored texts a test can replace. */
export interface DamagedStore<Kind extends Store = Store> {
  readonly store: Kind
  readonly damage: (name: CellName, text: string) => Promise<void>
  /** How a person finds the object that holds a cell. */
  readonly objectOf: (name: CellName) => string
  readonly end: () => Promise<void>
}

const damages = {
  'nothing at all': '',
  'half of a text': '{"version":1,"clus',
  'another kind of thing': '[]',
  'no version': '{}',
  'another shape': '{"version":1,"primary":7,"paused":7}',
} as const

/**
 * A record or notes that cannot be used are told as that, with the object and the cure, in every store; a lease that
 * cannot is nobody's.
 */
export function itNamesWhatIsDamaged(open: () => Promise<DamagedStore>): void {
  describe.each(['record', 'notes'] as const)('a damaged object: the %s', (kind) => {
    const read = (store: Store): Promise<unknown> =>
      kind === 'record' ? store.readRecord('shop') : store.readNotes('shop')
    const saved = async (store: Store): Promise<void> => {
      await store.compareAndSwap('shop', 0, shop)
      await store.updateNotes('shop', (notes) => ({ ...notes, instances: 5 }))
    }

    it.each(Object.entries(damages))('that holds %s', async (_, text) => {
      const { store, damage, objectOf, end } = await open()
      await saved(store)
      await damage(`${kind}.shop`, text)
      const refused = {
        code: 'REGENT_STORE_DAMAGED',
        message: expect.stringMatching(
          / cannot be used: .+\. .*Restore (it|them) from a copy; where there is none[:,] .+/,
        ) as string,
      }
      await expect(read(store)).rejects.toMatchObject(refused)
      await expect(read(store)).rejects.toThrow(`the ${kind} of shop, ${objectOf(`${kind}.shop`)}`)
      if (kind === 'notes') {
        await expect(store.updateNotes('shop', (notes) => notes)).rejects.toMatchObject({
          code: 'REGENT_STORE_DAMAGED',
        })
        expect(await store.readRecord('shop')).toEqual(shop)
      }
      await store.close()
      await end()
    })

    it('of a newer Regent is named, and left as it is', async () => {
      const { store, damage, objectOf, end } = await open()
      await saved(store)
      await damage(`${kind}.shop`, '{"version":99}')
      await expect(read(store)).rejects.toMatchObject({
        code: 'REGENT_NEWER_VERSION',
        message: expect.stringContaining(objectOf(`${kind}.shop`)) as string,
      })
      await store.close()
      await end()
    })
  })

  it('a damaged object: the record of another cluster', async () => {
    const { store, damage, end } = await open()
    await store.compareAndSwap('shop', 0, shop)
    await damage('record.shop', JSON.stringify(other('else')))
    await expect(store.readRecord('shop')).rejects.toMatchObject({
      code: 'REGENT_STORE_DAMAGED',
      message: expect.stringContaining('cluster is "else"; it must be "shop"') as string,
    })
    await store.close()
    await end()
  })
}

/** A lease decides who works, and nothing that safety rests on: one that cannot be read stops nobody. */
export function itTakesADamagedLease(open: () => Promise<DamagedStore<LeadingStore>>): void {
  it.each(Object.entries(damages))(
    'a lease that holds %s is taken by the next manager, with a newer token',
    async (_, text) => {
      const { store, damage, end } = await open()
      const before = await store.lead('a', 60_000)
      await damage('leader', text)
      const next = await store.lead('b', 60_000)
      expect(next?.manager).toBe('b')
      expect(next?.fencingToken).toBeGreaterThan(before?.fencingToken ?? Number.POSITIVE_INFINITY)
      await store.close()
      await end()
    },
  )
}

export function openEachTime<Kind extends Store>(
  open: () => Promise<TwoStores<Kind>>,
): { readonly first: Kind; readonly second: Kind } {
  let stores: TwoStores<Kind>
  beforeEach(async () => {
    stores = await open()
  })
  afterEach(async () => {
    await stores.first.close()
    await stores.second.close()
    await stores.end()
  })
  return {
    get first() {
      return stores.first
    },
    get second() {
      return stores.second
    },
  }
}

function other(cluster: string): ClusterRecord {
  return { ...shop, cluster, primary: `${cluster}-0@a0`, syncSet: [], leaving: [], intent: null }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
