import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { analyse, decide } from '#failover/decide.ts'
import { planSwitchover } from '#failover/semisync/switchover.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import {
  aSituation,
  committed,
  ordersOf,
  promised,
  shop0,
  shop1,
  shop2,
  type SituationOverrides,
} from '#failover/testing.ts'
import { callsForFailover, judgePrimary } from './verdict.ts'

const elected = gtids('shop-0', 200)
const primaryOf2 = {
  promise: 2,
  revision: 2,
  assignment: { epoch: 2, revision: 2, role: 'primary', counted: false, fenced: false, source: null },
} as const
const replicaOf2 = {
  promise: 2,
  revision: 2,
  assignment: { epoch: 2, revision: 2, role: 'replica', counted: true, fenced: false, source: 'shop-1' },
} as const

/** shop-1 was elected in epoch 2, executed the first 100 of 200 transactions, and is not open yet. */
const opening = (openingMs: number, executed = 100): ViewOverrides => ({
  follows: null,
  openingMs,
  server: {
    readOnly: true,
    superReadOnly: true,
    offlineMode: true,
    executed: gtids('shop-0', executed),
    received: elected,
  },
  stored: primaryOf2,
  converged: { revision: 0, done: false, sentence: 'applying 100 received transactions before opening' },
})
const replica = (received: number, executed: number, more: ViewOverrides = {}): ViewOverrides => ({
  ...more,
  server: { executed: gtids('shop-0', executed), received: gtids('shop-0', received) },
  stored: { ...replicaOf2, ...more.stored },
})
const overdue = opening(defaultTimings.slowOpeningMs)

function inEpoch2({ record, views, ...rest }: SituationOverrides = {}) {
  return aSituation({
    record: { epoch: 2, revision: 2, primary: shop1, syncSet: [shop0, shop2], elected, ...record },
    shape: { primary: 'shop-1' },
    views: { 'shop-0': replica(200, 150), 'shop-1': overdue, 'shop-2': replica(200, 200), ...views },
    ...rest,
  })
}

const says = 'shop-1 is elected and applies 100 transactions before it takes writes, for 10 s'

describe('a primary that was elected and does not take writes yet', () => {
  const cases: Readonly<
    Record<string, readonly [given: SituationOverrides, successor: string | null, sentence: string]>
  > = {
    'is waited for, before the bound': [
      { views: { 'shop-1': opening(8_400) } },
      null,
      'shop-1 is elected and applies 100 transactions before it takes writes, for 8 s',
    ],
    'is waited for, with nothing left to apply': [
      { views: { 'shop-1': opening(300, 200) } },
      null,
      'shop-1 is elected and opens, for 0 s',
    ],
    'gives way, past the bound, to one that has applied everything': [{}, 'shop-2', says],
    'gives way to one that has a tenth of it left': [{ views: { 'shop-2': replica(200, 190) } }, 'shop-2', says],
    'does not give way to one that has more left': [
      { views: { 'shop-2': replica(200, 189) } },
      null,
      `${says}; nobody else is taken: shop-0 has 50 transactions to apply itself, shop-2 has 11 transactions to apply itself`,
    ],
    'gives way rather to one that is done than to one that nearly is, whatever is preferred': [
      {
        spec: { policies: { 'shop-0': { promotion: 'prefer', priority: 0 } } },
        views: { 'shop-0': replica(200, 191) },
      },
      'shop-2',
      says,
    ],
    'does not give way to one that lacks a part of what it was elected for': [
      { views: { 'shop-2': replica(199, 199) } },
      null,
      `${says}; nobody else is taken: shop-0 has 50 transactions to apply itself, shop-2 lacks 1 transaction`,
    ],
    'does not give way to one whose policy is never': [
      { spec: { policies: { 'shop-2': { promotion: 'never', priority: 0 } } } },
      null,
      `${says}; nobody else is taken: shop-0 has 50 transactions to apply itself, shop-2 may not lead: its policy is never`,
    ],
    'does not give way to one that may have forgotten': [
      {
        record: { syncSet: [shop0, shop2], acks: 2, acksWanted: 2 },
        views: { 'shop-2': replica(200, 200, { stored: { ...replicaOf2, forgetful: true } }) },
      },
      null,
      `${says}; nobody else is taken: shop-0 has 50 transactions to apply itself, shop-2 does not answer, or may have forgotten what it received`,
    ],
    'does not give way to one outside of the sync set': [
      { record: { syncSet: [shop0] } },
      null,
      `${says}; nobody else is taken: shop-0 has 50 transactions to apply itself, shop-2 is not in the sync set`,
    ],
    'goes on where too few could revoke its epoch': [
      { views: { 'shop-0': { reachable: false } } },
      null,
      `${says}; nobody else is taken: 2 members of the sync set must promise and 1 can`,
    ],
    'goes on where nobody but its agent could': [
      { record: { syncSet: [] } },
      null,
      `${says}; nobody else is taken: too few are in the sync set`,
    ],
    'goes on where its last writes are unsettled': [
      { views: { 'shop-1': { ...overdue, stored: { ...primaryOf2, unsettled: true } } } },
      null,
      `${says}; nobody else is taken: its last writes may have been acknowledged`,
    ],
    'goes on by a record that does not say what it was elected for': [
      { record: { elected: '' } },
      null,
      `${says}; nobody else is taken: the record does not say what it was elected for`,
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [given, successor, sentence]) => {
    const verdict = judgePrimary(inEpoch2(given))
    expect(verdict).toMatchObject({ kind: successor === null ? 'well' : 'slow', sentence, opening: { successor } })
    expect(callsForFailover(verdict)).toBe(successor !== null)
  })

  it('is not judged by its word of an earlier epoch, and not called healthy before it was told', () => {
    const stored = { ...primaryOf2, assignment: { ...primaryOf2.assignment, epoch: 1 } }
    expect(judgePrimary(inEpoch2({ views: { 'shop-1': { ...overdue, stored } } }))).toMatchObject({
      kind: 'well',
      sentence: 'shop-1 is elected and has not begun to open',
      opening: { successor: null },
    })
    const open: ViewOverrides = { follows: null, openingMs: 20_000, server: { executed: elected }, stored }
    expect(judgePrimary(inEpoch2({ views: { 'shop-1': open } }))).not.toHaveProperty('opening')
  })

  it('is told while it is waited for, and nothing is begun', () => {
    const situation = inEpoch2({ views: { 'shop-1': opening(8_400) } })
    const decision = decide(situation)
    expect(decision).toMatchObject({
      flow: null,
      sentence: expect.stringContaining(
        'no action: primary shop-1 is elected and applies 100 transactions before it takes writes, for 8 s, 2 of 2 replicas',
      ) as string,
    })
    expect(analyse(situation).map(({ sentence }) => sentence)).toContain(
      'primary shop-1 takes no writes: it is elected and applies 100 transactions before it takes writes, for 8 s',
    )
    expect(ordersOf(decision).filter((order) => order.startsWith('promise'))).toEqual([])
  })

  it('is replaced by the usual election: the sync set promises, and of those who hold everything the one that opens soonest leads, whatever is preferred', () => {
    const spec = { policies: { 'shop-0': { promotion: 'prefer', priority: 0 } } } as const
    expect(ordersOf(decide(inEpoch2({ spec })))).toEqual(['promise shop-0 3@2', 'promise shop-2 3@2'])
    const views = {
      'shop-0': { ...promised(200, { epoch: 3 }), ...replica(200, 150, { stored: { promise: 3 } }) },
      'shop-2': { ...promised(200, { epoch: 3 }), ...replica(200, 200, { stored: { promise: 3 } }) },
    }
    const decision = decide(inEpoch2({ spec, views }))
    expect(committed(decision)).toMatchObject({ epoch: 3, primary: shop2, syncSet: [shop0], elected })
    expect(decision.reasons).toContain('shop-0 is not chosen: shop-2 opens sooner')
  })

  it('is not replaced by one promise too few', () => {
    const views = { 'shop-2': { ...promised(200, { epoch: 3 }), ...replica(200, 200, { stored: { promise: 3 } }) } }
    expect(ordersOf(decide(inEpoch2({ views })))).toEqual(['promise shop-0 3@2'])
  })

  it('is not replaced automatically where the budget is spent, or that is off', () => {
    for (const given of [
      { spec: { failover: { automatic: false } } },
      { notes: { automaticFailovers: [999_000, 999_001, 999_002] } },
    ]) {
      const decision = decide(inEpoch2(given))
      expect(decision.sentence).toMatch(/^no failover: shop-1 is elected and applies .* by hand: regent failover$/)
      expect(ordersOf(decision).filter((order) => order.startsWith('promise'))).toEqual([])
    }
  })

  it('goes on once it has opened, and those that promised are given back', () => {
    const open: ViewOverrides = { follows: null, stored: primaryOf2, server: { executed: elected } }
    const decision = decide(
      inEpoch2({ views: { 'shop-1': open, 'shop-2': replica(200, 200, { stored: { promise: 3 } }) } }),
    )
    expect(committed(decision)).toMatchObject({ epoch: 3, primary: shop1, syncSet: [shop0, shop2] })
  })

  it('does not hand over: a switchover is refused', () => {
    expect(planSwitchover(inEpoch2({ views: { 'shop-1': opening(500) } }), null)).toEqual({
      refusal:
        'shop-1 is elected and applies 100 transactions before it takes writes, for 0 s; there is nothing to hand over yet',
    })
  })

  it('gives way before the bound to a person who asks', () => {
    const asked = (acceptLoss: boolean) => [{ kind: 'failover', id: 'r', to: 'shop-2', acceptLoss }] as const
    for (const acceptLoss of [true, false]) {
      expect(ordersOf(decide(inEpoch2({ requests: asked(acceptLoss), views: { 'shop-1': opening(500) } })))).toEqual([
        'promise shop-0 3@2',
        'promise shop-2 3@2',
      ])
    }
  })

  it('is not restarted where a person asks and too few could promise: that is said', () => {
    const decision = decide(
      inEpoch2({
        requests: [{ kind: 'failover', id: 'r', to: null, acceptLoss: false }],
        record: { syncSet: [] },
        views: { 'shop-1': opening(500) },
      }),
    )
    expect(decision).toMatchObject({
      blocked: true,
      sentence: expect.stringMatching(
        /^no failover: shop-1 is elected and applies .*, and only its agent knows which writes count \(acks 1, sync set of 0\)$/,
      ) as string,
    })
    expect(ordersOf(decision)).toEqual([])
  })
})
