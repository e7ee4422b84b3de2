import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredObject } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { backupName } from '../objects/backup-name.ts'
import { chainFrom } from '../archive/chain.ts'
import { historyOf, type Archive } from '../archive/history.ts'
import { keyOf, parseKey } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import { describeSweep, planRetention, stillWritingMs, unfinishedBeforeMs } from './plan-retention.ts'
import type { Retention } from './retention-rules.ts'
import type { Stock, Sweep } from './sweep.ts'
import { aManifest, aPiece, sourceA, startMs } from '../objects/testing.ts'
import { storyWith } from '../archive/testing-archive.ts'

const hour = 3_600_000
const now = Date.UTC(2026, 10, 26, 12)
const rule: Retention = { last: 2, days: 3, weeks: 2 }

/** A backup that began so many hours ago. */
const backup = (hoursAgo: number, given: Partial<Manifest> = {}): Manifest => {
  const startedAtMs = now - hoursAgo * hour
  return aManifest({ name: backupName(startedAtMs), startedAtMs, endedAtMs: startedAtMs + 60_000, ...given })
}

const object = (key: string, modifiedMs = now - 48 * hour): StoredObject => ({ key, bytes: 10, modifiedMs })

function objectsOf({ manifests, openings, pieces }: Archive): readonly StoredObject[] {
  const cluster = 'shop'
  return [
    keyOf({ kind: 'owner', cluster }),
    ...manifests.flatMap(({ name, parts }) => [
      ...parts.map((_, at) => keyOf({ kind: 'part', cluster, name, part: at + 1 })),
      keyOf({ kind: 'manifest', cluster, name }),
      keyOf({ kind: 'verified', cluster, name }),
    ]),
    ...openings.map(({ epoch }) => keyOf({ kind: 'opening', cluster, epoch })),
    ...new Set(pieces.map((piece) => keyOf({ kind: 'piece', cluster, piece }))),
  ].map((key) => object(key))
}

function stockOf(given: Partial<Archive>, verified: readonly Manifest[] = []): Stock {
  const archive: Archive = { manifests: [], openings: [], pieces: [], ...given }
  return { ...archive, objects: objectsOf(archive), verified: new Set(verified.map(({ name }) => name)) }
}

const said = (items: Sweep['keep']) => items.map(({ why }) => String(why))
const names = (items: Sweep['keep']) => items.map(({ keys }) => keys[0]?.split('/')[2])

describe('of whole backups', () => {
  it('the newest ones stay, and the newest of a day and of a week', () => {
    const all = [1, 2, 3, 25, 26, 49, 73, 97, 200, 400].map((hours) => backup(hours))
    const sweep = planRetention(stockOf({ manifests: all }), rule, now)
    expect(said(sweep.keep)).toEqual([
      'backup 20261126T110000Z is one of the newest (2 stay)',
      'backup 20261126T100000Z is one of the newest (2 stay)',
      'backup 20261125T110000Z is the newest of 2026-11-25',
      'backup 20261124T110000Z is the newest of 2026-11-24',
      'backup 20261122T110000Z is the newest of the week from 2026-11-16',
    ])
    expect(said(sweep.delete)[0]).toBe(
      'backup 20261126T090000Z is beyond what stays: the newest 2, of 3 days and of 2 weeks',
    )
    expect(sweep.delete).toHaveLength(5)
  })

  it('the newest that was verified stays, however old', () => {
    const [fresh, other, old, older] = [1, 2, 3_000, 4_000].map((hours) => backup(hours))
    const given = [fresh, other, old, older].filter((each) => each !== undefined)
    const sweep = planRetention(stockOf({ manifests: given }, given.slice(2)), { last: 1, days: 0, weeks: 0 }, now)
    expect(said(sweep.keep)).toEqual([
      'backup 20261126T110000Z is one of the newest (1 stay)',
      `backup ${old?.name ?? ''} is the newest that was verified`,
    ])
    expect(names(sweep.delete)).toEqual([other?.name, older?.name])
  })

  it('one of which is only said that it was verified stays where of none is more known', () => {
    const [fresh, old, older] = [1, 3_000, 4_000].map((hours) => backup(hours))
    const manifests = [fresh, old, older].flatMap((each) => each ?? [])
    const claimed = new Set(manifests.slice(1).map(({ name }) => name))
    const left = (verified: readonly Manifest[]) =>
      names(planRetention({ ...stockOf({ manifests }, verified), claimed }, { last: 1, days: 0, weeks: 0 }, now).keep)
    expect(left([])).toEqual([fresh?.name, old?.name])
    expect(left(manifests.slice(2))).toEqual([fresh?.name, older?.name])
  })

  it('the only one stays, by any rule', () => {
    const sweep = planRetention(stockOf({ manifests: [backup(9_000)] }), { last: 0, days: 0, weeks: 0 }, now)
    expect(said(sweep.keep)).toEqual([`backup ${backup(9_000).name} is the only whole one`])
    expect(sweep.delete).toEqual([])
  })

  it('none goes because no backup was made for long', () => {
    const all = [1_000, 1_024, 1_048, 1_400].map((hours) => backup(hours))
    expect(planRetention(stockOf({ manifests: all }), rule, now).delete).toEqual([])
  })

  it('one whose manifest cannot be read stays, and so does the whole archive', () => {
    const stock = stockOf({ manifests: [backup(1), backup(2), backup(3)], pieces: [aPiece()] })
    const unread = { ...stock, manifests: [backup(1)] }
    const sweep = planRetention(unread, { last: 1, days: 1, weeks: 1 }, now)
    expect(sweep.delete).toEqual([])
    expect(said(sweep.keep)[1]).toBe(
      `backup ${backup(2).name} has a manifest that this Regent cannot read: nothing of that is touched`,
    )
    expect(said(sweep.keep)[3]).toBe(
      `the archive keeps all of 1 object, since the manifest of backup ${backup(2).name} cannot be read: that backup may need them`,
    )
  })
})

describe('of runs that did not end', () => {
  const parts = (modifiedMs: number) =>
    [1, 2].map((part) => object(keyOf({ kind: 'part', cluster: 'shop', name: backup(50).name, part }), modifiedMs))
  const name = backup(50).name
  /** @param newestMs the time of the newest object that the store has besides */
  const stock = (modifiedMs: number, newestMs = now): Stock => ({
    ...stockOf({}),
    objects: [...parts(modifiedMs), object(keyOf({ kind: 'owner', cluster: 'shop' }), newestMs)],
  })

  it('what may still be written stays', () => {
    const sweep = planRetention(stock(now - stillWritingMs + 1), rule, now)
    expect(sweep.delete).toEqual([])
    expect(said(sweep.keep)).toEqual([`run ${backup(50).name} may still be writing: its newest object is 24 h old`])
    expect(said(planRetention(stock(now + hour), rule, now).keep)[0]).toContain(
      'its newest object is less than a minute old',
    )
  })

  it('what is under way stays, however far ahead the clock of the reader is', () => {
    const begun = stock(now - hour, now - 60_000)
    const sweep = planRetention(begun, rule, now + 100 * stillWritingMs)
    expect(sweep.delete).toEqual([])
    expect(said(sweep.keep)).toEqual([`run ${name} may still be writing: its newest object is 59 min old`])
    expect(unfinishedBeforeMs(begun.objects, now + 100 * stillWritingMs)).toBe(now - 60_000 - stillWritingMs)
    expect(unfinishedBeforeMs(begun.objects, now - hour)).toBe(now - hour - stillWritingMs)
    expect(unfinishedBeforeMs([], now)).toBe(-Infinity)
  })

  it('a run of any number of parts is sorted', () => {
    const many = Array.from({ length: 200_000 }, (_, at) =>
      object(keyOf({ kind: 'part', cluster: 'shop', name, part: at + 1 }), now - 2 * stillWritingMs),
    )
    const all = { ...stock(now), objects: [...many, ...stock(0).objects.slice(2)] }
    expect(planRetention(all, rule, now).delete).toMatchObject([{ kind: 'leftover', bytes: 2_000_000 }])
  })

  it('what is older is a leftover, and goes', () => {
    const sweep = planRetention(stock(now - stillWritingMs), rule, now)
    expect(sweep).toMatchObject({ keep: [], delete: [{ kind: 'leftover', bytes: 20 }] })
    expect(said(sweep.delete)).toEqual([`run ${backup(50).name} did not finish: its newest object is 24 h old`])
  })
})

describe('of the archive', () => {
  const ten = (nth: number) => aPiece({ from: nth * 10 + 1, to: nth * 10 + 10, preceding: nth * 10, offset: nth })
  const opening = { epoch: 1, atMs: startMs, gtids: GtidSet.empty }
  const [early, late] = [backup(30, { gtids: `${sourceA}:1-10` }), backup(1, { gtids: `${sourceA}:1-25` })]

  it('goes what no backup needs that stays', () => {
    const stock = stockOf({ manifests: [early, late], openings: [opening], pieces: [0, 1, 2, 3].map(ten) })
    expect(said(planRetention(stock, rule, now).delete)).toEqual([
      `epoch 1 of the archive has 1 object with nothing that backup ${early.name} lacks`,
    ])
    const sweep = planRetention(stock, { last: 1, days: 0, weeks: 0 }, now)
    expect(describeSweep(sweep).map(String)).toEqual([
      `backup ${early.name} is beyond what stays: the newest 1, of 0 days and of 0 weeks (deleted, 4 objects, 40 bytes)`,
      `epoch 1 of the archive has 2 objects with nothing that backup ${late.name} lacks (deleted, 2 objects, 20 bytes)`,
      `backup ${late.name} is one of the newest (1 stay) (kept, 4 objects, 40 bytes)`,
      `epoch 1 of the archive has 3 objects that backup ${late.name} may need (kept, 3 objects, 30 bytes)`,
    ])
    expect(sweep.delete[0]?.keys[0]).toContain('/manifest.json')
  })

  it('stays everything where no backup is whole', () => {
    const stock = stockOf({ openings: [opening], pieces: [ten(0)] })
    expect(said(planRetention(stock, rule, now).keep)).toEqual([
      'the archive keeps all of 2 objects, since no backup is whole',
    ])
  })

  it('stays the newest piece, from which its sender goes on', () => {
    const stock = stockOf({ manifests: [late], openings: [opening], pieces: [ten(0), ten(1)] })
    const sweep = planRetention(stock, rule, now)
    expect(sweep.delete.flatMap(({ keys }) => keys)).toEqual([keyOf({ kind: 'piece', cluster: 'shop', piece: ten(0) })])
  })
})

describe('whatever lies there', () => {
  const rules = fc.record({ last: fc.nat(2), days: fc.nat(2), weeks: fc.nat(2) })
  const given = fc.tuple(storyWith({ phantoms: 2 }), rules, fc.nat(15), fc.nat(500))

  it('backups that stay reach as far as before, at whatever object the deletion ends; and once is enough', () => {
    let deleted = 0
    fc.assert(
      fc.property(given, ([{ archive }, rule, proven, dies]) => {
        const verified = archive.manifests.filter((_, at) => (proven >> at) % 2 === 1)
        const stock = stockOf(archive, verified)
        const sweep = planRetention(stock, rule, now)
        const gone = sweep.delete.flatMap(({ keys }) => keys)
        deleted += gone.length
        const half = without(stock, archive, gone.slice(0, dies % (gone.length + 1)))
        for (const manifest of half.archive.manifests) {
          const left = half.stock.objects.filter(({ key }) => key.includes(manifest.name))
          expect(left).toHaveLength(4)
        }
        const stay = sweep.keep.map(({ keys }) => keys[0] ?? '')
        for (const manifest of archive.manifests.filter(({ name }) => stay.some((key) => key.includes(name))))
          expect(chainFrom(manifest, historyOf(half.archive))).toEqual(chainFrom(manifest, historyOf(archive)))
        const whole = without(stock, archive, gone)
        expect(planRetention(whole.stock, rule, now).delete).toEqual([])
        const newest = verified.toSorted((one, other) => (one.name < other.name ? 1 : -1))[0]
        expect(newest === undefined || stay.some((key) => key.includes(newest.name))).toBe(true)
        expect(whole.archive.manifests.length).toBeGreaterThan(0)
      }),
      { numRuns: 200 },
    )
    expect(deleted).toBeGreaterThan(500)
  })

  it('objects of somebody else are in no list', () => {
    const foreign = ['shop/readme.txt', 'shop/base/x', 'other', `shop/base/${backup(1).name}/notes`].map((key) =>
      object(key),
    )
    const stock = stockOf({ manifests: [backup(1)] })
    const sweep = planRetention({ ...stock, objects: [...stock.objects, ...foreign] }, rule, now)
    const listed = [...sweep.keep, ...sweep.delete].flatMap(({ keys }) => keys)
    expect(listed.filter((key) => parseKey(key) === null)).toEqual([])
    expect(listed).toHaveLength(4)
  })
})

/** What is there once these are deleted. */
function without(stock: Stock, archive: Archive, gone: readonly string[]) {
  const objects = stock.objects.filter(({ key }) => !gone.includes(key))
  const there = new Set(objects.map(({ key }) => key))
  const cluster = 'shop'
  const left: Archive = {
    manifests: archive.manifests.filter(({ name }) => there.has(keyOf({ kind: 'manifest', cluster, name }))),
    openings: archive.openings.filter(({ epoch }) => there.has(keyOf({ kind: 'opening', cluster, epoch }))),
    pieces: archive.pieces.filter((piece) => there.has(keyOf({ kind: 'piece', cluster, piece }))),
  }
  return { archive: left, stock: { ...stock, ...left, objects } }
}
