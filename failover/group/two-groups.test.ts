import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { groupName, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import { committed, ordersOf, promised, shop0, shop1, shop2 } from '../testing.ts'
import { group as mode } from './decide-group.ts'
import {
  aGroupSituation,
  groupRecord,
  nobodyIn,
  revision,
  storedAs,
  tasksIn,
  type GroupSituation,
  askedFor,
} from './testing-group.ts'

const after = (given: GroupSituation) => decide(aGroupSituation(given))

const hand: Partial<GroupShape> = { viewId: '17329999999999999:1' }
/** Another hand formed a group with the primary and shop-1; shop-2 was of the group, which has no majority any more. */
const large: GroupShape = { ...hand, members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
const two = { 'shop-0': large, 'shop-1': large, 'shop-2': outsideGroup() }
const parted: Partial<ClusterRecord> = { group: { ...groupRecord(false).group!, parted: true } }
/** Both groups gave the names up to 104. */
const views = { 'shop-0': promised(104), 'shop-1': promised(104), 'shop-2': promised(104) }

describe('Of two groups that gave the same names', () => {
  it('it is in the record that there were two, before anybody promises and leaves its own', () => {
    const decision = after({ sees: two, ...askedFor('shop-2') })
    expect(committed(decision)).toMatchObject({ epoch: 1, group: { parted: true } })
    expect(ordersOf(decision)).toEqual([])
    expect(ordersOf(after({ sees: two, record: parted, ...askedFor('shop-2') }))).toEqual([
      'promise shop-0 2@5',
      'promise shop-1 2@5',
      'promise shop-2 2@5',
    ])
  })

  it.each([
    ['the one that a hand formed', 'shop-0', shop0, [shop1, shop2]],
    ['the other one', 'shop-2', shop2, [shop0, shop1]],
  ])(
    'whoever a person chooses counts alone, be it of %s: all others are to be copies, whatever they hold',
    (_, to, primary, members) => {
      const next = committed(after({ sees: nobodyIn, record: parted, views, ...askedFor(to) }))
      expect(next).toMatchObject({ epoch: 2, primary, syncSet: [], doubted: { since: 2, members } })
      expect(next.group).toEqual({ name: expect.not.stringMatching(groupName) as unknown, forming: true })
    },
  )

  it('nobody leads by what is held once both are gone, whether or not somebody asks: a person names who', () => {
    const sentence =
      'two groups went on apart, and one GTID may stand for two rows: shop-0 alone has 0 transactions, lacks 0, shop-1 alone has 0 transactions, lacks 0 and shop-2 alone has 0 transactions, lacks 0. Choose who leads: regent failover --accept-loss --to <instance>'
    for (const asked of [{}, askedFor(null), askedFor('shop-2', false)])
      expect(after({ sees: nobodyIn, record: parted, views, ...asked })).toMatchObject({
        actions: [],
        blocked: true,
        sentence,
      })
  })

  it('the record forgets that there were two once everybody is online in one', () => {
    const next = committed(after({ record: parted }))
    expect(next.group).not.toHaveProperty('parted')
  })

  it('a dry run says what cannot be counted', () => {
    const would = (to: string) => String(mode.lossOfFailover?.(aGroupSituation({ sees: two }), to))
    expect(would('shop-2')).toBe(
      'nothing that is known of would be given up, and nobody else would count before being seeded from shop-2: one GTID may stand for two rows, and what is given up cannot be counted',
    )
  })
})

describe('A member of a small group that another hand formed, chosen by a person', () => {
  const forked: ViewOverrides = promised(104, { stored: { opened: true, forked: true } })
  const given = { sees: nobodyIn, views: { ...views, 'shop-1': forked }, ...askedFor('shop-1') }

  it('counts alone, also where the others hold the very same names', () => {
    const decision = after(given)
    expect(committed(decision)).toMatchObject({
      primary: shop1,
      syncSet: [],
      doubted: { since: 2, members: [shop0, shop2] },
    })
    expect(decision.sentence).toBe(
      'shop-1 forms the group anew: a person chose its 104 transactions; nobody else counts before being seeded from shop-1: one GTID may stand for two rows',
    )
  })

  it('chosen again by a person who names another one: that one counts alone', () => {
    const record = { epoch: 2, doubted: { since: 2, members: [shop0, shop2] }, primary: shop1, syncSet: [] }
    const seen = { 'shop-1': promised(104, { epoch: 3 }), 'shop-2': promised(104, { epoch: 3 }) }
    const next = committed(after({ sees: nobodyIn, views: seen, record, ...askedFor('shop-2') }))
    expect(next).toMatchObject({ primary: shop2, syncSet: [], doubted: { since: 3, members: [shop1, shop0] } })
  })
})

describe('Whose rows are in doubt', () => {
  const primary = { views: { 'shop-0': { stored: storedAs('shop-0') } } }
  const alone: GroupShape = { members: { 'shop-0': 'ONLINE' } }
  const sees = { 'shop-0': alone, 'shop-1': outsideGroup(), 'shop-2': outsideGroup() }
  const record = { syncSet: [], doubted: { since: 1, members: [shop1, shop2] } }
  const outside = (copiedEpoch?: number): ViewOverrides => ({
    stored: {
      ...storedAs('shop-1', {
        assignment: { ...storedAs('shop-1').assignment!, counted: false, groupDoes: 'stayOut' },
      }),
      revision,
      ...(copiedEpoch === undefined ? {} : { copiedEpoch }),
    },
  })
  const standing = (one: ViewOverrides, more: GroupSituation = {}) =>
    after({ sees, record, views: { ...primary.views, 'shop-1': one, 'shop-2': outside() }, ...more })

  it('is seeded, though its names are those of the primary, and joins nothing before', () => {
    const decision = standing(outside(0))
    expect(ordersOf(decision)).toContain('reseed shop-1 1@5')
    expect(decision.sentence).toContain(
      'shop-1 may hold other rows by the same names than the primary that a person chose; it is archived and seeded again from shop-0',
    )
    expect(tasksIn(decision)).not.toContain('shop-1 join')
  })

  it('is admitted once it is a copy that was made since', () => {
    expect(committed(standing(outside(1)))).toMatchObject({ syncSet: [shop1], doubted: record.doubted })
  })

  it('stays out where its agent is older, and would be copied over and over', () => {
    const decision = standing(outside())
    expect(decision.actions.filter(({ kind }) => kind === 'commit' || kind === 'reseed')).toEqual([])
  })

  it('waits for a person where a person decides about copies', () => {
    const decision = standing(outside(0), { spec: { reseed: 'manual' } })
    expect(decision.actions.filter(({ kind }) => kind === 'commit' || kind === 'reseed')).toEqual([])
    expect(decision.sentence).toContain('regent reseed shop-1')
  })

  it('may be chosen by a person where the primary that was chosen is gone before anybody is a copy', () => {
    const gone: GroupSituation = {
      sees: nobodyIn,
      record,
      views: { 'shop-0': { reachable: false }, 'shop-1': promised(104), 'shop-2': { reachable: false } },
      nowMs: 60_000,
    }
    expect(mode.whyNeverTo(aGroupSituation(gone), 'shop-1', true)).toBeNull()
    const next = committed(after({ ...gone, ...askedFor('shop-1') }))
    expect(next).toMatchObject({ primary: shop1, syncSet: [], doubted: { since: 2, members: [shop0, shop2] } })
  })
})
