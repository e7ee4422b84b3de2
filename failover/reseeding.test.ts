import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '../topology/testing.ts'
import { decide } from './decide.ts'
import { aSituation, ordersOf, shop1, type SituationOverrides } from './testing.ts'

/** shop-2 is not in the sync set and is told so. */
const outside = (more: ViewOverrides): ViewOverrides => ({
  ...more,
  stored: { assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' }, ...more.stored },
})

function decisionFor(view: ViewOverrides, given: SituationOverrides = {}) {
  return decide(aSituation({ ...given, record: { syncSet: [shop1], ...given.record }, views: { 'shop-0': { server: { openGates: ['shop-1', 'shop-2'], ...given.views?.['shop-0']?.server } }, ...given.views, 'shop-2': outside(view) } }))
}

const own = gtids('shop-0', 100)
const errant = { server: { executed: `${own},${gtids('shop-2', 3)}`, received: own } }

describe('an instance is seeded again', () => {
  const cases: Readonly<Record<string, readonly [says: string, view: ViewOverrides, given?: SituationOverrides]>> = {
    'when it has errant transactions': [`shop-2 has 3 errant transactions (${gtids('shop-2', 3)}); it is archived and seeded again from shop-1`, errant],
    'when it lacks what the primary purged': ['lacks transactions that the primary no longer has in its binlogs', { server: { executed: `${uuidOf('shop-0')}:1-40`, received: '', channel: { ioRunning: 'no' } } }, { views: { 'shop-0': { server: { purged: `${uuidOf('shop-0')}:1-60` } } } }],
    'when it had a replication filter': ['has had a replication filter', { stored: { filterSeen: true } }],
    'when it is empty and there is much to copy': ['is empty and lacks 100 transactions', { server: { executed: '', received: '', channel: null } }, { spec: { cloneAboveTransactions: 50 } }],
    'when an earlier seeding has not ended': ['began a seeding that has not ended', { process: 'dead', server: null, stored: { seeding: true } }],
    'when an earlier seeding has not ended, and it never heard of this epoch': [
      'began a seeding that has not ended',
      { process: 'dead', server: null, stored: { seeding: true } },
      { record: { epoch: 2 }, views: { 'shop-0': { stored: { promise: 2, assignment: { epoch: 2, revision: 1, role: 'primary', counted: false, fenced: false, source: null } } }, 'shop-1': { stored: { promise: 2, assignment: { epoch: 2, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' } } } } },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [says, view, given]) => {
    const decision = decisionFor(view, given)
    expect(decision.sentence).toContain(says)
    expect(ordersOf(decision)[0]).toMatch(/^reseed shop-2 /)
  })

  it('by an order that names exactly what it destroys', () => {
    const order = decisionFor(errant).actions.find((action) => action.kind === 'reseed')
    expect(order).toMatchObject({ order: { destroys: `${own},${gtids('shop-2', 3)}`, sourceHolds: own, donor: { instance: 'shop-1' }, source: { instance: 'shop-0' } } })
  })

  it('from the primary where no other replica can give', () => {
    expect(decisionFor(errant, { views: { 'shop-1': { server: { channel: { ioRunning: 'no' } } } } }).sentence).toContain('seeded again from shop-0')
  })
})

describe('an instance is left alone', () => {
  const cases: Readonly<Record<string, readonly [view: ViewOverrides, given?: SituationOverrides]>> = {
    'while it is in the sync set': [errant, { record: { syncSet: [shop1, 'shop-2@volume-2'] } }],
    'when it is empty and there is little to copy': [{ server: { executed: '', received: '' } }],
    'while its server does not answer': [{ ...errant, silentMs: 5_000 }],
    'while an order to it is under way': [errant, { inFlight: new Map([['shop-2', { order: 'reseed', sinceMs: 1_000 }]]) }],
    'before it was told of this epoch': [{ ...errant, stored: { assignment: { epoch: 0, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' } } }],
    'before it was told that it no longer counts: its agent would refuse': [{ ...errant, stored: { assignment: { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' } } }],
    'before it was told of this revision': [errant, { record: { revision: 2 }, views: { 'shop-0': { stored: { revision: 2 }, converged: { revision: 2, done: true, sentence: '' } } } }],
    'when a person wants to do that': [errant, { spec: { reseed: 'manual' } }],
  }
  it.each(Object.entries(cases))('%s', (_, [view, given]) => {
    expect(ordersOf(decisionFor(view, given)).filter((order) => order.startsWith('reseed'))).toEqual([])
  })

  it('and it says so where the policy is manual', () => {
    const decision = decisionFor(errant, { spec: { reseed: 'manual' } })
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain('policy is manual: it is left as it is')
  })
})
