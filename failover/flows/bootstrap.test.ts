import { describe, expect, it } from 'vitest'
import { aSnapshot, gtids, memberOf, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import {
  aSituation,
  committed,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  type SituationOverrides,
} from '../testing.ts'

/** Nothing was ever stored or written. */
const fresh = (overrides: ViewOverrides = {}): ViewOverrides => ({
  ...overrides,
  server: overrides.server === null ? null : { executed: '', received: '', channel: null, ...overrides.server },
  stored: { promise: 0, revision: 0, assignment: null, ...overrides.stored },
})
const all = { 'shop-0': fresh(), 'shop-1': fresh(), 'shop-2': fresh() }

/** The same, before there is a record. */
function begin(given: SituationOverrides = {}) {
  return decide({
    ...aSituation({ ...given, views: { ...all, ...given.views } }),
    record: undefined,
    published: undefined,
  })
}

describe('a new cluster', () => {
  it('is led by ordinal 0, with nobody in the sync set yet', () => {
    const decision = begin()
    expect(committed(decision)).toEqual({
      version: 1,
      cluster: 'shop',
      epoch: 1,
      revision: 1,
      primary: shop0,
      syncSet: [],
      leaving: [],
      acks: 1,
      acksWanted: 1,
      intent: null,
    })
    expect(decision.flow).toBe('bootstrap')
  })

  it('of one instance needs no acknowledgement', () => {
    expect(committed(begin({ shape: { instances: 1 } }))).toMatchObject({ primary: shop0, acks: 0, acksWanted: 0 })
  })

  const waits: Readonly<Record<string, readonly [says: string, given: SituationOverrides]>> = {
    'until every agent is heard': ['waiting for the agents of shop-2', { views: { 'shop-2': { unheard: true } } }],
    'until every server answers': ['waiting for mysqld of shop-1', { views: { 'shop-1': fresh({ server: null }) } }],
    'while there are tables that are not InnoDB': [
      'shop-2 has tables that are not InnoDB (app.log)',
      { views: { 'shop-2': fresh({ server: { foreignTables: ['app.log'] } }) } },
    ],
    'while it is paused': [
      'paused before the first primary was chosen',
      { notes: { paused: { reason: 'moving', wallMs: 0 } } },
    ],
  }
  it.each(Object.entries(waits))('waits %s', (_, [says, given]) => {
    const decision = begin(given)
    expect(decision.sentence).toContain(says)
    expect(decision.actions).toEqual([])
  })

  it('that is being made does not stand still, unless something is amiss or it takes long', () => {
    const unheard: ViewOverrides = { unheard: true }
    const waiting = { views: { 'shop-1': fresh({ server: null }), 'shop-2': unheard } }
    const amiss = { ...waiting.views, 'shop-2': { ...unheard, trouble: 'container mysql of its pod waits' } }
    const dead = { 'shop-1': fresh({ server: null, process: 'dead' }) }
    expect(begin(waiting).blocked).toBe(false)
    expect(begin({ views: { 'shop-1': fresh({ server: null, process: 'starting' }) } }).blocked).toBe(false)
    expect([begin({ views: amiss }).blocked, begin({ views: dead }).blocked]).toEqual([true, true])
    expect(begin({ ...waiting, nowMs: 300_000 }).blocked).toBe(true)
  })

  it('first gets the instances it should have', () => {
    expect(begin({ shape: { instances: 2 }, spec: { instances: 3 } }).actions).toEqual([{ kind: 'scale', count: 3 }])
  })
})

describe('existing data', () => {
  const has = (last: number, more = ''): ViewOverrides =>
    fresh({ server: { executed: `${gtids('shop-0', last)}${more}` } })

  it('is led by the most advanced instance', () => {
    const decision = begin({ views: { 'shop-0': has(7), 'shop-1': has(9), 'shop-2': has(9) } })
    expect(committed(decision)).toMatchObject({ epoch: 1, primary: shop1, syncSet: [] })
    expect(decision.sentence).toContain('shop-1 leads, it holds all 9 transactions')
  })

  it('is led by the one that clients write to and all others follow, whoever else holds as much', () => {
    const follows = (last: number): ViewOverrides => ({
      server: {
        executed: gtids('shop-0', last),
        received: '',
        readOnly: true,
        channel: { sourceUuid: uuidOf('shop-2') },
      },
      stored: { promise: 0, revision: 0, assignment: null },
    })
    const open = (last: number): ViewOverrides => ({
      ...has(last),
      server: {
        executed: gtids('shop-0', last),
        received: '',
        channel: null,
        readOnly: false,
        superReadOnly: false,
        offlineMode: false,
      },
    })
    const same = begin({ views: { 'shop-0': follows(9), 'shop-1': follows(9), 'shop-2': open(9) } })
    expect(committed(same)).toMatchObject({ epoch: 1, primary: shop2 })
    const behind = begin({ views: { 'shop-0': follows(10), 'shop-1': follows(9), 'shop-2': open(9) } })
    expect(behind).toMatchObject({ actions: [], blocked: true })
  })

  it('is led by that one also where a replica was looked at later: the source has written on since its own look', () => {
    const follows: ViewOverrides = {
      server: {
        executed: `${gtids('shop-0', 9)},${gtids('shop-2', 5)}`,
        received: gtids('shop-2', 6),
        readOnly: true,
        channel: { sourceUuid: uuidOf('shop-2') },
      },
      stored: { promise: 0, revision: 0, assignment: null },
    }
    const open = { channel: null, readOnly: false, superReadOnly: false, offlineMode: false, received: '' }
    const source = { server: { ...open, executed: `${gtids('shop-0', 9)},${gtids('shop-2', 4)}` } }
    const views = { 'shop-0': follows, 'shop-1': follows, 'shop-2': { ...has(9), ...source } }
    expect(committed(begin({ views }))).toMatchObject({ epoch: 1, primary: shop2 })
  })

  it('that went separate ways is left to a person', () => {
    const decision = begin({
      views: { 'shop-1': has(9, `,${gtids('shop-1', 2)}`), 'shop-2': has(9, `,${gtids('shop-2', 3)}`) },
    })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain(
      'no instance holds everything the others hold (shop-0 lacks 14 transactions, shop-1 lacks 3 transactions, shop-2 lacks 2 transactions): choose who leads (--dry-run names what is given up): regent failover --accept-loss --to <instance>',
    )
  })
})

describe('a record that was lost', () => {
  /** As in epoch 4 at revision 9, with shop-0 as primary. */
  const acted = (role: 'primary' | 'replica', more: ViewOverrides = {}): ViewOverrides => ({
    ...more,
    stored: {
      promise: 4,
      revision: 9,
      assignment: {
        epoch: 4,
        revision: 9,
        role,
        counted: role === 'replica',
        fenced: false,
        source: role === 'replica' ? 'shop-0' : null,
      },
      ...more.stored,
    },
  })
  const members = { 'shop-0': acted('primary'), 'shop-1': acted('replica'), 'shop-2': acted('replica') }
  const reported = (view: ViewOverrides, asPrimary: boolean, last = 100): ViewOverrides => {
    const { stored, ...report } = (asPrimary ? promisedAsPrimary : promised)(last, { epoch: 5 })
    return { ...view, ...report, stored: { ...view.stored, revision: 1_000_000, ...stored } }
  }
  const reports = {
    'shop-0': reported(members['shop-0'], true, 103),
    'shop-1': reported(members['shop-1'], false),
    'shop-2': reported(members['shop-2'], false),
  }

  it('is not begun again: everybody promises one more than the highest promise', () => {
    expect(ordersOf(begin({ views: members }))).toEqual([
      'promise shop-0 5@1000000',
      'promise shop-1 5@1000000',
      'promise shop-2 5@1000000',
    ])
  })

  it('asks again only who has not promised', () => {
    expect(ordersOf(begin({ views: { ...reports, 'shop-2': members['shop-2'] } }))).toEqual([
      'promise shop-2 5@1000000',
    ])
  })

  it('is rebuilt above all that was stored, with the one that holds everything', () => {
    expect(committed(begin({ views: reports }))).toMatchObject({
      epoch: 5,
      revision: 1_000_001,
      primary: shop0,
      syncSet: [],
      acks: 1,
    })
  })

  it('is not rebuilt from promises that the lost record’s own failover collected: that failover may have been committed, and clients sent to its primary', () => {
    const views = Object.fromEntries(
      Object.entries(reports).map(([name, view]) => [name, { ...view, stored: { ...view.stored, revision: 9 } }]),
    )
    expect(ordersOf(begin({ views }))).toEqual([
      'promise shop-0 6@1000000',
      'promise shop-1 6@1000000',
      'promise shop-2 6@1000000',
    ])
  })

  it('is not rebuilt in an epoch that somebody acts on already', () => {
    const ahead = acted('replica', {
      stored: {
        promise: 5,
        revision: 10,
        assignment: { epoch: 5, revision: 10, role: 'primary', counted: false, fenced: false, source: null },
      },
    })
    expect(ordersOf(begin({ views: { ...reports, 'shop-1': ahead } }))).toEqual([
      'promise shop-0 6@1000000',
      'promise shop-1 6@1000000',
      'promise shop-2 6@1000000',
    ])
  })

  it.each<readonly [why: string, doubt: NonNullable<ViewOverrides['stored']>]>([
    ['it was open for writes while it was no primary', { opened: true }],
    ['it has had a replication filter', { filterSeen: true }],
    ['it ran without a binary log', { gtidsReset: true, binlogOff: true }],
    ['it may have forgotten what it received', { forgetful: true }],
  ])('is not given to an instance whose data are in doubt: %s', (why, doubt) => {
    const inDoubt = (view: ViewOverrides): ViewOverrides => ({ ...view, stored: { ...view.stored, ...doubt } })
    const replica = inDoubt(reported(acted('replica'), false, 103))
    const primary = reported(acted('primary'), true, 103)
    const taken = begin({
      shape: { primary: 'shop-1' },
      views: { 'shop-0': replica, 'shop-1': primary, 'shop-2': reports['shop-2'] },
    })
    expect(committed(taken)).toMatchObject({ epoch: 5, primary: shop1 })
    const nobody = begin({ views: { ...reports, 'shop-0': replica } })
    expect(nobody).toMatchObject({ actions: [], blocked: true })
    expect(nobody.sentence).toContain(`shop-0 is in doubt: ${why}`)
    expect(nobody.sentence).toContain('shop-1 lacks 3 transactions')
  })

  it('waits for everybody', () => {
    expect(begin({ views: { ...members, 'shop-2': { ...members['shop-2'], reachable: false } } }).sentence).toContain(
      'waiting for the agents of shop-2',
    )
  })

  it('is left to a person when the primary lives on another volume: what only that one held is not here', () => {
    const decision = begin({
      snapshot: aSnapshot({ ...members, 'shop-0': fresh({ member: `${memberOf('shop-0')}-new` }) }),
    })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain('shop-0 was the primary and lives on another volume now')
  })

  it('is not given to an instance that is about to go', () => {
    const decision = begin({
      notes: { instances: 2 },
      views: {
        ...reports,
        'shop-0': reported(members['shop-0'], true),
        'shop-2': reported(members['shop-2'], false, 105),
      },
    })
    expect(decision.sentence).toContain('no instance holds everything')
    expect(
      committed(begin({ notes: { instances: 2 }, views: { ...reports, 'shop-0': reported(members['shop-0'], true) } }))
        .primary,
    ).not.toBe(shop2)
  })
})

describe('who leads without a record because a person says so', () => {
  const chosen = (to: string) => [{ kind: 'failover' as const, id: 'asked', to, acceptLoss: true }]
  const has = (last: number, more = ''): ViewOverrides =>
    fresh({ server: { executed: `${gtids('shop-0', last)}${more}` } })
  const apart = {
    'shop-0': has(7),
    'shop-1': has(9, `,${gtids('shop-1', 2)}`),
    'shop-2': has(9, `,${gtids('shop-2', 3)}`),
  }
  const stored = (promise: number, revision: number): NonNullable<ViewOverrides['stored']> => ({
    promise,
    revision,
    assignment: { epoch: 4, revision: 9, role: 'replica', counted: true, fenced: false, source: 'shop-0' },
  })

  it('leads, and it is named what only others hold', () => {
    const decision = begin({ requests: chosen('shop-1'), views: apart })
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: 1, primary: shop1, syncSet: [] })
    expect(decision.sentence).toBe(
      `forced: shop-1 leads; given up: 3 transactions of shop-2 that shop-1 lacks (${gtids('shop-2', 3)})`,
    )
  })

  it('is named as in doubt where it is, and nobody else counts before being a copy of it', () => {
    const opened = { ...apart['shop-1'], stored: { ...apart['shop-1'].stored, opened: true } }
    const decision = begin({ requests: chosen('shop-1'), views: { ...apart, 'shop-1': opened } })
    expect(committed(decision)).toMatchObject({ primary: shop1, doubted: { since: 1, members: [shop0, shop2] } })
    expect(decision.sentence).toContain('; what shop-1 lacks (in doubt)')
    const forgot = { ...apart['shop-1'], stored: { ...apart['shop-1'].stored, forgetful: true } }
    const told = begin({ requests: chosen('shop-1'), views: { ...apart, 'shop-1': forgot } })
    expect(told.sentence).toContain('; what shop-1 lacks (in doubt)')
  })

  it('leads also while the cluster is paused', () => {
    expect(
      committed(
        begin({ requests: chosen('shop-2'), notes: { paused: { reason: 'moving', wallMs: 0 } }, views: apart }),
      ),
    ).toMatchObject({ primary: shop2 })
  })

  it('leads once all who answer have promised, in an epoch above what a silent instance may have promised', () => {
    const views = {
      'shop-0': { reachable: false },
      'shop-1': { stored: stored(4, 9) },
      'shop-2': { stored: stored(4, 9) },
    }
    const asks = begin({ requests: chosen('shop-1'), views })
    expect(ordersOf(asks)).toEqual(['promise shop-1 1000@1000000000', 'promise shop-2 1000@1000000000'])
    expect(asks.sentence).toContain('given up: what shop-0 alone holds (silent)')
    const gave = (last: number): ViewOverrides => {
      const { stored: kept, ...report } = promised(last, { epoch: 1_000 })
      return { ...report, stored: { ...stored(1_000, 1_000_000_000), ...kept, promise: 1_000 } }
    }
    const half = begin({ requests: chosen('shop-1'), views: { ...views, 'shop-1': gave(100) } })
    expect(ordersOf(half)).toEqual(['promise shop-2 1000@1000000000'])
    expect(
      committed(begin({ requests: chosen('shop-1'), views: { ...views, 'shop-1': gave(100), 'shop-2': gave(103) } })),
    ).toMatchObject({ epoch: 1_000, revision: 1_000_000_001, primary: shop1 })
  })

  it.each<readonly [why: string, given: ViewOverrides]>([
    ['its agent is silent', { reachable: false }],
    ['it has tables that are not InnoDB (app.log)', fresh({ server: { foreignTables: ['app.log'] } })],
    ['it began to be seeded and holds nothing that counts', fresh({ stored: { seeding: true } })],
    ['its mysqld runs for', fresh({ server: null })],
  ])('cannot lead: %s', (why, given) => {
    const decision = begin({ requests: chosen('shop-1'), views: { 'shop-1': given } })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain(`shop-1 cannot lead: ${why}`)
  })

  it('is not whom a failover without acceptance of loss names', () => {
    expect(
      begin({ requests: [{ kind: 'failover', id: 'asked', to: 'shop-1', acceptLoss: false }], views: apart }),
    ).toMatchObject({ actions: [], blocked: true })
  })
})
