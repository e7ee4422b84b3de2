import { describe, expect, it, test } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { isUnsettled, revocation, revocationQuorum } from './durability.ts'
import { promisedBy } from './promised.ts'
import {
  aSituation,
  deadServer,
  promised,
  promisedAsPrimary,
  shop1,
  shop2,
  type SituationOverrides,
} from '#failover/testing.ts'

test.each([
  [2, 1, 2],
  [4, 2, 3],
  [4, 1, 4],
  [2, 2, 1],
  [3, 2, 2],
  [1, 2, null],
  [0, 1, null],
  [2, 0, null],
  [0, 0, null],
])('with %i members in S and k = %i, %s of them must promise', (size, acks, quorum) => {
  const syncSet = Array.from({ length: size }, (_, index) => `shop-${index + 1}@v` as const)
  expect(revocationQuorum({ syncSet, acks })).toBe(quorum)
})

describe('an epoch is revoked', () => {
  const cases: Readonly<Record<string, readonly [revoked: boolean, given: SituationOverrides, says?: string]>> = {
    'by |S| − k + 1 members of S': [true, { views: { 'shop-1': promised(), 'shop-2': promised() } }],
    'not by one fewer': [false, { views: { 'shop-1': promised() } }, '2 members of the sync set must promise, 1 did'],
    'not by somebody outside of S': [
      false,
      { record: { syncSet: [shop1], acks: 1 }, views: { 'shop-2': promised() } },
      '1 member of the sync set must promise, none did',
    ],
    'not by a forgetful member': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { stored: { forgetful: true } }) } },
    ],
    'not by a promise of another epoch': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { epoch: 3 }) } },
    ],
    'not by a promise whose report is of an older one': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { stored: { promise: 3 } }) } },
    ],
    'not by a promise without a report': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': { stored: { promise: 2 } } } },
    ],
    'not by a promise given at an older revision': [
      false,
      {
        record: { revision: 2 },
        views: { 'shop-1': promised(100, { stored: { revision: 2 } }), 'shop-2': promised() },
      },
    ],
    'not by a member that is being seeded': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { stored: { seeding: true } }) } },
    ],
    'not by a member that is not heard any more': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { reachable: false }) } },
    ],
    'not by an instance that lives on another volume': [
      false,
      { views: { 'shop-1': promised(), 'shop-2': promised(100, { member: 'shop-2@other' }) } },
    ],
    'not through S while S is smaller than k': [
      false,
      { record: { syncSet: [shop1], acks: 2 }, views: { 'shop-1': promised() } },
      'only its agent knows which writes count (acks 2, sync set of 1)',
    ],
    'not through S while nothing is acknowledged (k = 0)': [
      false,
      { record: { acks: 0 }, views: { 'shop-1': promised(), 'shop-2': promised() } },
    ],
    'by the primary’s own agent alone': [
      true,
      { record: { syncSet: [], acks: 1 }, views: { 'shop-0': promisedAsPrimary() } },
    ],
    'not by a primary that reports as a replica': [
      false,
      { record: { syncSet: [], acks: 1 }, views: { 'shop-0': promised() } },
    ],
    'not through S while the primary’s tail is unsettled': [
      false,
      {
        views: { 'shop-0': { ...deadServer, stored: { unsettled: true } }, 'shop-1': promised(), 'shop-2': promised() },
      },
      'its agent must promise: ',
    ],
    'through the primary’s agent where its mysqld ran without a binary log': [
      true,
      {
        views: {
          'shop-0': promisedAsPrimary(101, {
            ...deadServer,
            stored: { unsettled: true, forgetful: true, fromThePast: true, gtidsReset: true, binlogOff: true },
          }),
        },
      },
    ],
    'not through the primary’s agent where its GTIDs were reset': [
      false,
      {
        views: {
          'shop-0': promisedAsPrimary(101, {
            ...deadServer,
            stored: { forgetful: true, fromThePast: true, gtidsReset: true },
          }),
        },
      },
    ],
    'through the primary’s agent while its tail is unsettled': [
      true,
      {
        views: {
          'shop-0': promisedAsPrimary(101, { ...deadServer, stored: { unsettled: true } }),
          'shop-1': promised(),
        },
      },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [revoked, given, says]) => {
    const found = revocation(aSituation(given), 2)
    expect(found.revoked).toBe(revoked)
    expect(String(found.missing)).toContain(says ?? '')
    expect(found.missing === '').toBe(revoked)
  })
})

describe('the union', () => {
  it('is everything that those who count hold', () => {
    const { union, promised: who } = revocation(
      aSituation({ views: { 'shop-1': promised(103), 'shop-2': promised(101) } }),
      2,
    )
    expect(union.toString()).toBe(gtids('shop-0', 103))
    expect(who.map(({ member }) => member)).toEqual([shop1, shop2])
  })

  it('leaves out what only the dead primary has, when S revoked it: nobody was told that it is there', () => {
    const { union } = revocation(
      aSituation({
        views: { 'shop-0': promisedAsPrimary(109, deadServer), 'shop-1': promised(103), 'shop-2': promised(101) },
      }),
      2,
    )
    expect(union.toString()).toBe(gtids('shop-0', 103))
  })

  it('has the primary’s binlog when its own agent revoked it or its tail is unsettled', () => {
    const alone = revocation(
      aSituation({ views: { 'shop-0': promisedAsPrimary(109, deadServer), 'shop-1': promised(103) } }),
      2,
    )
    expect(alone.union.toString()).toBe(gtids('shop-0', 109))
    const unsettled = revocation(
      aSituation({
        views: {
          'shop-0': promisedAsPrimary(109, { ...deadServer, stored: { unsettled: true } }),
          'shop-1': promised(103),
          'shop-2': promised(103),
        },
      }),
      2,
    )
    expect(unsettled.union.toString()).toBe(gtids('shop-0', 109))
  })

  it('leaves out what a forgetful member still has', () => {
    const { union } = revocation(
      aSituation({
        record: { acks: 2 },
        views: { 'shop-1': promised(103), 'shop-2': promised(109, { stored: { forgetful: true } }) },
      }),
      2,
    )
    expect(union.toString()).toBe(gtids('shop-0', 103))
  })
})

test('a report counts with what it says is held', () => {
  expect(promisedBy(aSituation({ views: { 'shop-1': promised(103) } }), shop1, 2)?.holds.toString()).toBe(
    gtids('shop-0', 103),
  )
})

test('what was last heard of an unsettled tail is believed although the agent is silent now', () => {
  expect(isUnsettled(aSituation({ views: { 'shop-0': { reachable: false, stored: { unsettled: true } } } }))).toBe(true)
  expect(
    isUnsettled(aSituation({ views: { 'shop-0': { member: 'shop-0@other', stored: { unsettled: true } } } })),
  ).toBe(false)
})
