import { describe, expect, it } from 'vitest'
import { aGroupSituation } from '#failover/group/testing-group.ts'
import { aSituation, deadServer, type SituationOverrides } from '#failover/testing.ts'
import { readersIn } from './readers.ts'

const limits = { maxLagMs: 5_000, fallback: 'primary' } as const
const all = ['shop-1', 'shop-2']
const late = (lagSeconds: number) => ({ server: { channel: { lagSeconds } } })

/** Who gets reads, where these got them before. */
function readers(overrides: SituationOverrides, before: readonly string[] = all, said: object = {}) {
  return readersIn(aSituation(overrides), { ...limits, ...said }, new Set(before))
}

describe('Reads without a router', () => {
  it('go to the replicas, and not to the primary', () => {
    expect(readers({})).toEqual(all)
    expect(readers({}, ['shop-0', ...all])).toEqual(all)
  })

  it.each([
    ['none of it', 0, 'kept', 'taken'],
    ['half of it', 2.5, 'kept', 'taken'],
    ['more than half of it', 2.6, 'kept', 'left out'],
    ['all of it', 5, 'kept', 'left out'],
    ['more', 5.1, 'left out', 'left out'],
  ])(
    'of the lag that is allowed a replica has %s (%d s): one with reads is %s, one without %s',
    (_, lag, has, has0) => {
      const views = { 'shop-1': late(lag) }
      expect(readers({ views }).includes('shop-1')).toBe(has === 'kept')
      expect(readers({ views }, ['shop-2']).includes('shop-1')).toBe(has0 === 'taken')
    },
  )

  it('see by the heartbeat what did not arrive', () => {
    const views = {
      'shop-0': { heartbeat: { atMs: 20_000, everyMs: 1_000 } },
      'shop-1': { server: { channel: { lagSeconds: null, appliedUpToMs: 11_000 } } },
    }
    expect(readers({ views })).toEqual(['shop-2'])
  })

  it('leave out who follows nobody for longer than the lag that is allowed, and not for a reconnection', () => {
    const strayed = (ms: number) => readers({ strayingSince: new Map([['shop-1', 100]]), nowMs: 100 + ms })
    expect([strayed(5_000), strayed(5_001)]).toEqual([all, ['shop-2']])
  })

  it('stay where they are while the primary is away: nobody can follow then', () => {
    const strayingSince = new Map(all.map((name) => [name, 0]))
    expect(readers({ views: { 'shop-0': deadServer }, strayingSince, nowMs: 60_000 })).toEqual(all)
  })

  it('begin nowhere while the primary is away where a replica followed nobody before that already', () => {
    const strayed = (ms: number, before: readonly string[]) => {
      const strayingSince = new Map([
        ['shop-1', 60_000 - ms],
        ['shop-2', 60_000],
      ])
      return readers({ views: { 'shop-0': deadServer }, strayingSince, nowMs: 70_000 }, before)
    }
    expect([strayed(2_500, ['shop-2']), strayed(2_501, ['shop-2'])]).toEqual([all, ['shop-2']])
    expect([strayed(5_000, all), strayed(5_001, all)]).toEqual([all, ['shop-2']])
  })

  it.each<[string, SituationOverrides]>([
    [
      'delayed',
      {
        views: {
          'shop-1': { server: { channel: { changedOptions: [{ name: 'SOURCE_DELAY', wanted: '0', seen: '9' }] } } },
        },
      },
    ],
    ['filtered', { views: { 'shop-1': { stored: { filterSeen: true } } } }],
    ['seeded', { views: { 'shop-1': { stored: { seeding: true } } } }],
    ['offline', { views: { 'shop-1': { server: { offlineMode: true } } } }],
    ['fenced', { notes: { fenced: [{ instance: 'shop-1', reason: 'new disk' }] } as never }],
    ['dead', { views: { 'shop-1': deadServer } }],
    ['nobody’s replica', { views: { 'shop-1': { stored: { assignment: null } } } }],
  ])('never go to one that is %s', (_, overrides) => {
    expect(readers(overrides)).toEqual(['shop-2'])
  })

  it('stay with one that is not heard now, or does not answer now, and do not begin there', () => {
    for (const view of [{ reachable: false }, { silentMs: 60_000 }, { unheard: true as const }]) {
      const views = { 'shop-1': view }
      expect([readers({ views }), readers({ views }, ['shop-2'])]).toEqual([all, ['shop-2']])
    }
  })
})

describe('While no replica may have reads', () => {
  const views = { 'shop-1': late(9), 'shop-2': late(9) }

  it('the primary gets them, until a replica may have them again', () => {
    expect(readers({ views })).toEqual(['shop-0'])
    expect(readers({ views: { ...views, 'shop-2': late(2) } }, ['shop-0'])).toEqual(['shop-2'])
  })

  it('nobody gets them where that is asked for', () => {
    expect(readers({ views }, all, { fallback: 'none' })).toEqual([])
  })

  it('the primary gets none where it does not answer', () => {
    expect(readers({ views: { ...views, 'shop-0': deadServer } }, [])).toEqual([])
  })

  it('the primary gets them beside replicas that nobody has heard for a lease', () => {
    const silent = { 'shop-1': { reachable: false }, 'shop-2': { reachable: false } }
    expect(readers({ views: silent })).toEqual(all)
    expect(readers({ views: silent, nowMs: 60_000 })).toEqual(['shop-0', ...all])
  })
})

it('In mode group reads go to members that are ONLINE and not late', () => {
  const read = (lagSeconds: number) =>
    readersIn(aGroupSituation({ sees: { 'shop-1': { lagSeconds } } }), limits, new Set(all))
  expect([read(1), read(6)]).toEqual([all, ['shop-2']])
})

it('Without a record nothing is known, and reads stay where they are', () => {
  expect(readersIn({ ...aSituation({}), record: undefined }, limits, new Set(['shop-1']))).toEqual(['shop-1'])
})
