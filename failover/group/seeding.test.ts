import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { groupName, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import type { ReseedOrder } from '../protocol/order.ts'
import { committed, ordersOf, shop1, shop2 } from '../testing.ts'
import { aGroupSituation, revision, storedAs, type GroupSituation } from './testing-group.ts'

const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
const all = gtids('shop-0', 100)
const errant: ViewOverrides = { server: { executed: `${all},${gtids('shop-2', 3)}` } }
const told = { epoch: 1, revision, role: 'replica', fenced: false, source: 'shop-0' } as const

/** It was no member for ten seconds. */
const strayed = { nowMs: 60_000, strayingSince: new Map([['shop-2', 50_000]]) }

/** shop-2 is in no group, looks like `view`, and is a member by the record or not. */
function decided(view: ViewOverrides, { named, ...more }: GroupSituation & { named: boolean }) {
  const assignment = {
    ...told,
    addresses: storedAs('shop-2').assignment?.addresses ?? {},
    counted: named,
    groupDoes: named ? ('join' as const) : ('stayOut' as const),
  }
  return decide(
    aGroupSituation({
      ...more,
      record: { syncSet: named ? [shop1, shop2] : [shop1], ...more.record },
      sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup(), ...more.sees },
      views: { ...more.views, 'shop-2': { ...view, stored: { revision, assignment, ...view.stored } } },
    }),
  )
}

const asOutsider = (view: ViewOverrides, more: GroupSituation = {}) => decided(view, { ...more, named: false })
const asMember = (view: ViewOverrides, more: GroupSituation = {}) => decided(view, { ...more, named: true })

const reasons: Readonly<Record<string, readonly [why: string, view: ViewOverrides, more?: GroupSituation]>> = {
  'has errant transactions': [`has 3 errant transactions (${gtids('shop-2', 3)})`, errant],
  'went back in time': ['went back in time', { stored: { fromThePast: true } }],
  'lacks what the primary purged': [
    'lacks transactions that the primary no longer has in its binlogs',
    { server: { executed: gtids('shop-0', 40), received: '' } },
    { views: { 'shop-0': { server: { purged: gtids('shop-0', 60) } } } },
  ],
  'is empty, and there is much to copy': [
    'is empty and lacks 100 transactions',
    { server: { executed: '', received: '' } },
    { spec: { cloneAboveTransactions: 50 } },
  ],
  'stopped at something that it cannot apply': [
    'cannot apply what it receives (duplicate key)',
    {},
    { ...strayed, sees: { 'shop-2': outsideGroup({ error: 'duplicate key', applierError: 'duplicate key' }) } },
  ],
}

describe('An instance outside of the group', () => {
  it.each(Object.entries(reasons))(
    'is seeded from a secondary, and not admitted, where it %s',
    (_, [why, view, more]) => {
      const decision = asOutsider(view, more)
      expect(decision.sentence).toContain(`shop-2 ${why}`)
      expect(decision.sentence).toContain('it is archived and seeded again from shop-1')
      expect(ordersOf(decision)).toEqual([`reseed shop-2 1@${revision}`])
    },
  )

  it('is admitted once it is a copy', () => {
    expect(committed(asOutsider({})).syncSet).toEqual([shop1, shop2])
  })

  it('that is empty is admitted where a person decides about copies', () => {
    const view = { server: { executed: '', received: '' } }
    const decision = asOutsider(view, { spec: { cloneAboveTransactions: 50, reseed: 'manual' } })
    expect(committed(decision).syncSet).toEqual([shop1, shop2])
  })

  it('gives up exactly what was seen, and archives what the primary has not', () => {
    const order = asOutsider(errant).actions.flatMap((action) => (action.kind === 'reseed' ? [action.order] : []))
    expect(order).toMatchObject([
      { destroys: `${all},${gtids('shop-2', 3)}`, sourceHolds: all } satisfies Partial<ReseedOrder>,
    ])
  })

  it('is seeded from the primary where no secondary is online', () => {
    const alone: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'RECOVERING' } }
    const decision = asOutsider(errant, { sees: { 'shop-0': alone, 'shop-1': alone } })
    expect(decision.sentence).toContain('it is archived and seeded again from shop-0')
  })

  it('is not errant by what the group agreed on since the primary was looked at', () => {
    const view = { server: { executed: `${all},${groupName}:1-3` } }
    expect(committed(asOutsider(view)).syncSet).toEqual([shop1, shop2])
  })

  it('is errant by what an earlier group agreed on that the present one has not', () => {
    const given = 'ffffffff-0b0b-8c0c-8d0d-0e0e0e0e0e0e:1-3'
    expect(asOutsider({ server: { executed: `${all},${given}` } }).sentence).toContain(
      `has 3 errant transactions (${given})`,
    )
  })
})

describe('A member by the record that is in no view', () => {
  it.each(Object.entries(reasons))(
    'leaves first where it %s, and is seeded by the next revision',
    (_, [why, view, more]) => {
      const decision = asMember(view, more)
      expect(committed(decision)).toMatchObject({ syncSet: [shop1, shop2], leaving: [shop2] })
      expect(decision.sentence).toContain(`shop-2 ${why}`)
      expect(decision.sentence).toContain(': it leaves the group, to be seeded')
    },
  )

  it('stays one where it only has to join', () => {
    expect(asMember({}).actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it.each<[string, GroupSituation]>([
    [
      'stopped because its disk is full: what it received is sound',
      { ...strayed, sees: { 'shop-2': outsideGroup({ applierError: "The table 'more' is full, Error_code: 1114;" }) } },
    ],
    ['did not reach a donor', { ...strayed, sees: { 'shop-2': outsideGroup({ error: 'the donor refused' }) } }],
    [
      'stopped at something a moment ago: it may be applied at the next attempt',
      {
        nowMs: 60_000,
        strayingSince: new Map([['shop-2', 58_000]]),
        sees: { 'shop-2': outsideGroup({ applierError: 'x' }) },
      },
    ],
  ])('stays one where it %s', (_, more) => {
    expect(asMember({}, more).actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('stays one while the primary does not answer: nobody knows what that one holds', () => {
    const silent = asMember(errant, { views: { 'shop-0': { silentMs: 60_000 } } })
    expect(silent.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })
})

it('A leaver is dropped only by what the primary says now, which is of a view without the leaver', () => {
  const assignment = { ...storedAs('shop-2').assignment!, groupDoes: 'stayOut' as const }
  const out = { stored: storedAs('shop-2', { assignment }) }
  const given = (silentMs: number) => asMember(out, { record: { leaving: [shop2] }, views: { 'shop-0': { silentMs } } })
  expect(committed(given(0)).syncSet).toEqual([shop1])
  expect(given(60_000).actions.filter(({ kind }) => kind === 'commit')).toEqual([])
})

describe('A volume that went back in time', () => {
  const past = { 'shop-2': { past: shop2, reachable: true } }
  it('is told that it is a new member while the group has a primary', () => {
    const decision = decide(
      aGroupSituation({ sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() }, views: past }),
    )
    expect(ordersOf(decision)).toContain('renounce shop-2 1@5')
  })

  it('is left as it is while the group has none: it may be all there is', () => {
    const nobody = outsideGroup()
    const decision = decide(
      aGroupSituation({ sees: { 'shop-0': nobody, 'shop-1': nobody, 'shop-2': nobody }, views: past }),
    )
    expect(ordersOf(decision).filter((order) => order.startsWith('renounce'))).toEqual([])
  })
})

it('transactions of the uuid of a primary that were not seen there are nobody’s errors either', () => {
  const view = { server: { executed: `${uuidOf('shop-0')}:1-120` } }
  expect(committed(asOutsider(view)).syncSet).toEqual([shop1, shop2])
})
