import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it, test } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { planSwitchover } from './switchover.ts'
import type { PromiseOrder } from '../protocol/order.ts'
import {
  aSituation,
  committed,
  deadServer,
  namesOf,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
} from '../testing.ts'

describe('the plan', () => {
  it('takes the one that election would prefer', () => {
    const plan = planSwitchover(aSituation(), null)
    expect(plan).toMatchObject({ candidate: shop1 })
    expect('steps' in plan && plan.steps).toHaveLength(6)
    expect(
      planSwitchover(aSituation({ spec: { policies: { 'shop-2': { promotion: 'prefer', priority: 0 } } } }), null),
    ).toMatchObject({ candidate: shop2 })
  })

  it('takes the one that was asked for', () => {
    expect(planSwitchover(aSituation(), 'shop-2')).toMatchObject({ candidate: shop2 })
  })

  it('refuses a newer server while an older one could lead, and takes it for the last step of a rolling update', () => {
    const at = (...versions: readonly string[]): SituationOverrides => ({
      views: Object.fromEntries(versions.map((version, ordinal) => [`shop-${ordinal}`, { server: { version } }])),
    })
    const half = at('8.4.6', '9.7.4', '8.4.6')
    expect(planSwitchover(aSituation(half), 'shop-1')).toEqual({
      refusal:
        'shop-1 runs MySQL 9.7 and shop-2 8.4, which cannot follow a newer one: update shop-2 first, or let it lead',
    })
    expect(planSwitchover(aSituation(half), null)).toMatchObject({ candidate: shop2 })
    expect(
      planSwitchover(
        aSituation({ ...half, notes: { fenced: [{ instance: 'shop-2', keepPrimary: false, wallMs: 0 }] } }),
        'shop-1',
      ),
    ).toMatchObject({ candidate: shop1 })
    expect(planSwitchover(aSituation(at('8.4.6', '9.7.4', '9.7.4')), 'shop-1')).toMatchObject({ candidate: shop1 })
  })

  it('takes one that stays when others leave', () => {
    expect(planSwitchover(aSituation({ record: { leaving: [shop1] } }), null)).toMatchObject({ candidate: shop2 })
    expect(
      planSwitchover(
        aSituation({ notes: { instances: 2 }, spec: { policies: { 'shop-2': { promotion: 'prefer', priority: 0 } } } }),
        null,
      ),
    ).toMatchObject({ candidate: shop1 })
  })

  const refusals: Readonly<Record<string, readonly [says: string, given: SituationOverrides, to?: string]>> = {
    'the primary': [
      'shop-1 does not follow the primary',
      { views: { 'shop-1': { server: { channel: { ioRunning: 'no' } } } } },
      'shop-1',
    ],
    itself: ['shop-0 is the primary already', {}, 'shop-0'],
    nobody: ['there is no instance shop-9; there are shop-0, shop-1, shop-2', {}, 'shop-9'],
    'one outside of the sync set': ['shop-2 is not in the sync set', { record: { syncSet: [shop1] } }, 'shop-2'],
    'one that leaves': ['shop-2 is not in the sync set', { record: { leaving: [shop2] } }, 'shop-2'],
    'one that is errant': [
      'shop-1 has 3 errant transactions',
      { views: { 'shop-1': { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-2', 3)}` } } } },
      'shop-1',
    ],
    'one that was open for writes': [
      'shop-1 may not lead: it was open for writes while it was no primary and has not been seeded since',
      { views: { 'shop-1': { stored: { opened: true } } } },
      'shop-1',
    ],
    'one that lacks what the primary has in no binlog, before it was shown to be passed over': [
      `shop-1 lacks 7 transactions that shop-0 has in no binlog (${gtids('shop-9', 7)}); it is seeded again by itself`,
      {
        views: {
          'shop-0': {
            server: { executed: `${gtids('shop-0', 100)},${gtids('shop-9', 7)}`, purged: gtids('shop-9', 7) },
          },
        },
      },
      'shop-1',
    ],
    'one that is fenced': [
      'shop-1 is fenced',
      { notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
      'shop-1',
    ],
    'one whose policy is never': [
      'the policy of shop-1 is never',
      { spec: { policies: { 'shop-1': { promotion: 'never', priority: 0 } } } },
      'shop-1',
    ],
    'one with much to apply': [
      'shop-1 has 1001 transactions to apply (at most 1000)',
      { views: { 'shop-1': { server: { channel: { backlogTransactions: 1_001 } } } } },
      'shop-1',
    ],
    'one that lags': [
      'shop-1 lags 31 s (at most 30 s)',
      { views: { 'shop-1': { server: { channel: { lagSeconds: 31 } } } } },
      'shop-1',
    ],
    'anybody while something is under way': ['a switchover is under way', { record: { intent: switchoverIntent() } }],
    'anybody while the primary is not well': ['the primary is not well', { views: { 'shop-0': deadServer } }],
    'anybody while the primary has not taken its epoch': ['shop-0 has not taken epoch 2 yet', { record: { epoch: 2 } }],
    'anybody with nobody in the sync set': [
      'no replica can take over: nobody is in the sync set',
      { record: { syncSet: [] } },
    ],
  }
  it('refuses while too few replicas acknowledge: a scale-in would begin and undo a switchover again and again', () => {
    const alone = aSituation({ views: { 'shop-0': { server: { dumpThreads: [] } } } })
    expect(planSwitchover(alone, null)).toEqual({
      refusal: 'a write needs 1 acknowledgement, and 0 replicas can give one',
    })
  })

  it('refuses what has no time to undo a large transaction, names a command that has, and says what that costs', () => {
    const change = { session: 21, user: 'client', rows: 140_000 }
    const large = aSituation({ views: { 'shop-0': { server: { openChanges: [change] } } } })
    expect(planSwitchover(large, 'shop-2')).toEqual({
      refusal:
        'session 21 of client has changed 140000 rows and not committed; undoing takes up to 14 s, and there are 7 s for that. Wait until that is committed or, ending it, use: regent switchover --to shop-2 --timeout 26s',
    })
    const plan = planSwitchover(large, null, 26_000)
    expect(String('steps' in plan && plan.steps[2])).toBe(
      'session 21 of client is ended, and 140000 rows are undone, for up to 14 s, before writes are stopped',
    )
  })

  it.each(Object.entries(refusals))('refuses %s', (_, [says, given, to]) => {
    expect(planSwitchover(aSituation(given), to ?? null)).toEqual({ refusal: saying(says) })
  })
})

const asked = {
  requests: [{ kind: 'switchover', id: 'request-1', to: null, deadlineWallMs: 1_010_000, reason: 'asked for' }],
} as const

test('a request puts the intent into the record before anything is touched', () => {
  const decision = decide(aSituation(asked))
  expect(committed(decision)).toMatchObject({
    epoch: 1,
    revision: 2,
    primary: shop0,
    intent: { kind: 'switchover', by: 'me', candidate: shop1, request: 'request-1' },
  })
  expect(ordersOf(decision)).toEqual([])
  expect(decision.flow).toBe('switchover')
})

test('a switchover that nobody asked for has its time by a clock that no hand sets', () => {
  const ends = { 'shop-0': { terminating: true } } as const
  const { intent } = committed(decide(aSituation({ wallMs: 0, steadyWallMs: 5_000_000, views: ends })))
  expect(intent).toMatchObject({ deadlineWallMs: 5_010_000, gathering: { untilWallMs: 5_001_500 } })
})

test('a request that was made of another primary is not followed', () => {
  const stale = { requests: [{ ...asked.requests[0], from: 'shop-1' }] }
  expect(decide(aSituation(stale)).actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  expect(committed(decide(aSituation({ requests: [{ ...asked.requests[0], from: 'shop-0' }] })))).toMatchObject({
    intent: { kind: 'switchover' },
  })
})

/** The intent is in the record at revision 1, and nothing else has happened. */
function underWay(given: SituationOverrides = {}) {
  return decide(aSituation({ ...given, record: { intent: switchoverIntent(), ...given.record } }))
}

const demoted = promisedAsPrimary(107)
const others = { 'shop-0': demoted, 'shop-1': promised(107), 'shop-2': promised(107) }

describe('with its intent in the record a switchover', () => {
  it('first demotes the primary', () => {
    expect(ordersOf(underWay())).toEqual(['demote shop-0 2@1'])
  })

  it('then lets all replicas promise, once they have the last transaction', () => {
    const decision = underWay({ views: { 'shop-0': demoted } })
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    const orders = decision.actions.flatMap((action) => (action.kind === 'promise' ? [action.order] : []))
    expect(orders.map(({ after }: PromiseOrder) => after)).toEqual([gtids('shop-0', 107), gtids('shop-0', 107)])
    expect(orders.map(({ waitMs }) => waitMs)).toEqual([5_000, 30])
  })

  it('then commits, with the old primary in the new sync set', () => {
    const next = committed(underWay({ views: others }))
    expect(next).toMatchObject({ epoch: 2, revision: 2, primary: shop1, acks: 1, leaving: [], intent: null })
    expect(namesOf(next.syncSet)).toBe('shop-0,shop-2')
  })

  it('commits without the others when they take too long', () => {
    const late = underWay({
      views: { ...others, 'shop-2': {} },
      inFlight: new Map([['shop-2', { order: 'promise', sinceMs: 1_080 }]]),
    })
    expect(late).toMatchObject({ actions: [], revisitMs: 40 })
    expect(
      namesOf(
        committed(
          underWay({
            views: { ...others, 'shop-2': {} },
            inFlight: new Map([['shop-2', { order: 'promise', sinceMs: 1_000 }]]),
          }),
        ).syncSet,
      ),
    ).toBe('shop-0')
  })

  it('lets the candidate fetch from the demoted primary what it still lacks', () => {
    expect(ordersOf(underWay({ views: { ...others, 'shop-1': promised(105) } }))).toEqual(['fetch shop-1 2@1'])
  })
})

describe('before the demotion', () => {
  const gathering = { members: [shop2], untilWallMs: 1_001_500 }
  const told = (revision: number, source: string): ViewOverrides => ({
    stored: { revision, assignment: { epoch: 1, revision, role: 'replica', counted: true, fenced: false, source } },
    converged: { revision, done: true, sentence: '' },
  })
  const primaryTold: ViewOverrides = {
    stored: {
      revision: 2,
      assignment: { epoch: 1, revision: 2, role: 'primary', counted: false, fenced: false, source: null },
    },
    converged: { revision: 2, done: true, sentence: '' },
  }
  const at = (views: Readonly<Record<string, ViewOverrides>>, more: SituationOverrides = {}) =>
    underWay({ record: { revision: 2, intent: switchoverIntent({ gathering }) }, views, ...more })

  it('so many connect to the candidate that the primary keeps the acknowledgements it needs, the candidate’s among them', () => {
    expect(committed(decide(aSituation(asked))).intent).toMatchObject({
      gathering: { members: [shop2], untilWallMs: 1_001_500 },
    })
    const five = committed(decide(aSituation({ ...asked, shape: { instances: 5 } })))
    expect(five.intent?.kind === 'switchover' && namesOf(five.intent.gathering?.members ?? [])).toBe('shop-2,shop-3')
    const small = committed(decide(aSituation({ ...asked, record: { syncSet: [shop1] } })))
    expect(small.intent).not.toHaveProperty('gathering')
  })

  it('they are told to follow the candidate, once the primary knows of it', () => {
    expect(ordersOf(at({}))).toEqual([
      'primary shop-0 counts [shop-1,shop-2] lets in [] k=1 1@2',
      'follow shop-2 counted 1@2',
    ])
    const order = at({ 'shop-0': primaryTold }).actions.flatMap((action) =>
      action.kind === 'assign' && action.to === 'shop-2' ? [action.order] : [],
    )[0]
    expect(order).toMatchObject({ source: { instance: 'shop-1' }, counted: true, sourceUuid: uuidOf('shop-0') })
    expect(order).not.toHaveProperty('sourceReady')
  })

  it('the primary goes on until they are connected, or have been waited for long enough', () => {
    const views = { 'shop-0': primaryTold, 'shop-1': told(2, 'shop-0') }
    expect(at({ ...views, 'shop-2': told(1, 'shop-0') }).sentence).toContain('shop-2 connects to it first')
    expect(ordersOf(at({ ...views, 'shop-2': told(2, 'shop-1') }))).toEqual(['demote shop-0 2@2'])
    for (const wallMs of [1_001_500, 0])
      expect(ordersOf(at({ ...views, 'shop-2': told(1, 'shop-0') }, { wallMs, steadyWallMs: 1_001_500 }))).toEqual([
        'demote shop-0 2@2',
      ])
  })

  it('and only their receivers go on when they promise', () => {
    const decision = at({
      'shop-0': promisedAsPrimary(107, { stored: { revision: 2 } }),
      'shop-1': told(2, 'shop-0'),
      'shop-2': told(2, 'shop-1'),
    })
    const kept = decision.actions.flatMap((action) =>
      action.kind === 'promise' ? [[action.to, action.order.keepReceiverFrom]] : [],
    )
    expect(kept).toEqual([
      ['shop-1', undefined],
      ['shop-2', 'shop-1'],
    ])
  })
})

describe('a switchover is undone', () => {
  it('by taking the intent out, before anybody promised', () => {
    const decision = underWay({ wallMs: 1_010_001 })
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: 2, primary: shop0, intent: null })
    expect(decision.sentence).toContain('switchover undone: its deadline passed; shop-0 goes on as primary')
  })

  it('by committing the next epoch with the same primary, S and k, after promises were given', () => {
    const next = committed(underWay({ wallMs: 1_010_001, views: { 'shop-0': demoted } }))
    expect(next).toMatchObject({ epoch: 2, revision: 2, primary: shop0, acks: 1, intent: null })
    expect(namesOf(next.syncSet)).toBe('shop-1,shop-2')
  })

  const reasons: Readonly<Record<string, readonly [says: string, given: SituationOverrides]>> = {
    'when an order was refused': [
      'a write needs 1 acknowledgement',
      {
        failedRequests: new Map([
          ['request-1', { why: 'demotion refused: a write needs 1 acknowledgement', timedOut: false }],
        ]),
      },
    ],
    'when its candidate is gone': ['shop-1 is gone', { views: { 'shop-1': { reachable: false } } }],
    'when its candidate’s mysqld is dead': ['shop-1 is gone', { views: { 'shop-1': deadServer } }],
    'when its candidate was opened by a hand': [
      'shop-1 may not lead: it was open for writes while it was no primary',
      { views: { 'shop-1': { stored: { opened: true } } } },
    ],
    'by the next manager': [
      'the manager that began a switchover is gone',
      { record: { intent: switchoverIntent({ by: 'another' }) } },
    ],
  }
  it.each(Object.entries(reasons))('%s', (_, [says, given]) => {
    const decision = underWay(given)
    expect(decision.sentence).toContain(says)
    expect(committed(decision)).toMatchObject({ epoch: 1, primary: shop0, intent: null })
  })

  it.each([
    ['back', 0],
    ['forward', 1e12],
  ])('in its time, where the wall clock is set %s meanwhile', (_, wallMs) => {
    expect(underWay({ wallMs, steadyWallMs: 1_010_001 }).sentence).toContain('its deadline passed')
    const [action] = underWay({ wallMs, steadyWallMs: 1_008_000 }).actions
    expect(action).toMatchObject({ kind: 'demote', order: { deadlineMs: 1_600 } })
    const [asked] = underWay({ wallMs, steadyWallMs: 1_008_000, views: { 'shop-0': demoted } }).actions
    expect(asked).toMatchObject({ kind: 'promise', order: { waitMs: 1_000 } })
  })

  it.each([
    [true, 'a deadline that passed', { wallMs: 1e15 }],
    [true, 'no answer in time', { failedRequests: new Map([['request-1', { why: 'late', timedOut: true }]]) }],
    [false, 'a refusal', { failedRequests: new Map([['request-1', { why: 'deadline', timedOut: false }]]) }],
  ])('and says %j to a time-out for %s', (timedOut, _, given: SituationOverrides) => {
    expect(underWay(given).actions).toMatchObject([{ kind: 'commit', timedOut }])
  })

  it('by the next manager in the next epoch, where the old one had demoted the primary', () => {
    expect(
      committed(underWay({ record: { intent: switchoverIntent({ by: 'another' }) }, views: others })),
    ).toMatchObject({ epoch: 2, primary: shop0, intent: null })
  })

  it('and a primary that was demoted by an order that came too late is given its writes back', () => {
    const decision = decide(aSituation({ record: { revision: 2 }, views: { 'shop-0': demoted } }))
    expect(committed(decision)).toMatchObject({ epoch: 2, revision: 3, primary: shop0 })
  })
})

test('a primary that dies during a switchover is failed over instead', () => {
  const decision = underWay({ views: { ...others, 'shop-0': deadServer } })
  expect(committed(decision)).toMatchObject({ epoch: 1, revision: 2, primary: shop0, intent: null })
  const then = decide(aSituation({ record: { revision: 2 }, views: { ...others, 'shop-0': deadServer } }))
  expect(ordersOf(then)).toEqual(['promise shop-1 2@2', 'promise shop-2 2@2'])
})
