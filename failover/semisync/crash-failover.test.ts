import { describe, expect, it, test } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { decide } from '../decide.ts'
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
  type SituationOverrides,
  fetchIntent,
  never,
} from '../testing.ts'
import { afterDeath, lost } from './testing-death.ts'

describe('a failover', () => {
  it('first asks all members of S to promise the next epoch', () => {
    const decision = afterDeath()
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(decision).toMatchObject({ flow: 'failover', blocked: false })
    expect(decision.sentence).toBe(
      'failing over: mysqld of shop-0 is dead; asking shop-1 and shop-2 to promise epoch 2',
    )
  })

  it.each<[string, SituationOverrides, readonly string[]]>([
    ['by its ordinal', {}, ['shop-1']],
    ['by its policy', { spec: { policies: { 'shop-2': { promotion: 'prefer', priority: 0 } } } }, ['shop-2']],
    ['and may', { spec: { policies: { 'shop-1': never } } }, ['shop-2']],
    ['where anybody may', { spec: { policies: { 'shop-1': never, 'shop-2': never } } }, []],
  ])('has the one make ready that will most likely lead %s', (_why, given, making) => {
    const { actions } = afterDeath(given)
    expect(
      actions.flatMap((action) => (action.kind === 'promise' && action.order.prepare === true ? [action.to] : [])),
    ).toEqual(making)
  })

  it('then commits the one that holds everything, with the others that hold as much', () => {
    const decision = afterDeath({ views: { 'shop-1': promised(103), 'shop-2': promised(103) } })
    const next = committed(decision)
    expect(next).toMatchObject({
      epoch: 2,
      revision: 2,
      primary: shop1,
      acks: 1,
      acksWanted: 1,
      leaving: [],
      intent: null,
    })
    expect(namesOf(next.syncSet)).toBe('shop-2')
    expect(ordersOf(decision)).toEqual([])
    expect(decision.reasons).toEqual(['shop-2 is not chosen: equal, and shop-1 has the lower ordinal'])
  })

  it('says what the primary had been given past its binlog, and no replica was ever sent', () => {
    const lacking = gtids('shop-3', 7)
    const passedOver = new Map([
      ['shop-1', lacking],
      ['shop-2', lacking],
    ])
    const decision = afterDeath({ passedOver, views: { 'shop-1': promised(103), 'shop-2': promised(103) } })
    expect(committed(decision)).toMatchObject({ primary: shop1 })
    expect(decision.sentence).toBe(
      `failing over to shop-1, which holds everything acknowledged, but for 7 transactions that shop-0 never sent (${lacking}): mysqld of shop-0 is dead`,
    )
  })

  it('leaves the new sync set empty when too few hold what the new primary holds', () => {
    expect(committed(afterDeath({ views: { 'shop-1': promised(103), 'shop-2': promised(101) } }))).toMatchObject({
      primary: shop1,
      syncSet: [],
    })
  })

  it('takes those that lag into the new sync set once k hold everything', () => {
    const given: SituationOverrides = {
      shape: { instances: 4 },
      record: { acks: 1, acksWanted: 1 },
      views: { 'shop-1': promised(103), 'shop-2': promised(103), 'shop-3': promised(99) },
    }
    expect(namesOf(committed(afterDeath(given)).syncSet)).toBe('shop-2,shop-3')
  })

  it('takes nobody into the new sync set who holds what the new primary lacks', () => {
    const errant = promised(103)
    const given: SituationOverrides = {
      record: { acks: 0, acksWanted: 0 },
      spec: { acks: 0 },
      views: {
        'shop-0': promisedAsPrimary(103, deadServer),
        'shop-1': promised(103),
        'shop-2': {
          ...errant,
          promiseReport: {
            epoch: 2,
            holds: `${gtids('shop-0', 103)},${gtids('shop-2', 1)}`,
            executed: '',
            asPrimary: false,
          },
        },
      },
    }
    expect(committed(afterDeath(given))).toMatchObject({ primary: shop2, syncSet: [shop1] })
  })

  it('waits a moment for promises that are under way, so that their members stay in the sync set', () => {
    const given: SituationOverrides = {
      shape: { instances: 5 },
      views: { 'shop-1': promised(), 'shop-2': promised(), 'shop-3': promised() },
    }
    const inFlight = new Map([['shop-4', { order: 'promise', sinceMs: 1_070 }]])
    expect(afterDeath({ ...given, inFlight })).toMatchObject({ actions: [], revisitMs: 30 })
    expect(namesOf(committed(afterDeath({ ...given, inFlight, nowMs: 1_140 })).syncSet)).toBe('shop-2,shop-3')
  })

  it('puts k that was being raised back to what the record counts on', () => {
    expect(
      committed(
        afterDeath({
          spec: { acks: 2 },
          record: { acks: 1, acksWanted: 2 },
          views: { 'shop-1': promised(), 'shop-2': promised() },
        }),
      ),
    ).toMatchObject({ acks: 1, acksWanted: 1 })
  })

  it('goes on from promises that another manager collected', () => {
    expect(
      committed(afterDeath({ manager: 'another', views: { 'shop-1': promised(), 'shop-2': promised() } })),
    ).toMatchObject({ epoch: 2, primary: shop1 })
  })
})

describe('what the candidate lacks', () => {
  const views = { 'shop-1': promised(99), 'shop-2': promised(103) }
  const spec = { policies: { 'shop-2': never } }

  it('is fetched only under an intent', () => {
    const next = committed(afterDeath({ spec, views }))
    expect(next).toMatchObject({
      epoch: 1,
      revision: 2,
      primary: shop0,
      intent: { kind: 'fetch', by: 'me', candidate: shop1 },
    })
  })

  it('is fetched once all promised again at the intent’s revision', () => {
    const given: SituationOverrides = { spec, record: { revision: 2, intent: fetchIntent() } }
    expect(ordersOf(afterDeath({ ...given, views })).slice(0, 2)).toEqual(['promise shop-1 2@2', 'promise shop-2 2@2'])
    const again = {
      'shop-1': promised(99, { stored: { revision: 2 } }),
      'shop-2': promised(103, { stored: { revision: 2 } }),
    }
    const decision = afterDeath({ ...given, views: again })
    expect(ordersOf(decision)[0]).toBe('fetch shop-1 2@2')
    expect(decision.actions.find((action) => action.kind === 'fetch')).toMatchObject({
      order: { until: gtids('shop-0', 103), from: { instance: 'shop-2' } },
    })
  })

  it('is waited for while it is fetched', () => {
    const given: SituationOverrides = {
      spec: { policies: { 'shop-2': never } },
      record: { revision: 2, intent: fetchIntent(), acks: 2, acksWanted: 2 },
      inFlight: new Map([['shop-1', { order: 'fetch', sinceMs: 1_000 }]]),
    }
    const decision = afterDeath({
      ...given,
      views: {
        'shop-1': { stored: { promise: 2, revision: 2 } },
        'shop-2': promised(103, { stored: { revision: 2 } }),
      },
    })
    expect(ordersOf(decision)).toEqual([])
    expect(decision.sentence).toContain('waiting for what is being fetched')
  })

  it('once fetched, makes it the winner', () => {
    const fetched = {
      'shop-1': promised(103, { stored: { revision: 2 } }),
      'shop-2': promised(103, { stored: { revision: 2 } }),
    }
    expect(
      committed(afterDeath({ spec, record: { revision: 2, intent: fetchIntent() }, views: fetched })),
    ).toMatchObject({
      epoch: 2,
      revision: 3,
      primary: shop1,
      syncSet: [shop2],
      intent: null,
    })
  })

  it('is no longer wanted when another one wins: the intent goes first', () => {
    const views = {
      'shop-1': promised(99, { stored: { revision: 2 } }),
      'shop-2': promised(103, { stored: { revision: 2 } }),
    }
    expect(committed(afterDeath({ record: { revision: 2, intent: fetchIntent() }, views }))).toMatchObject({
      epoch: 1,
      revision: 3,
      intent: null,
    })
  })

  it('is not asked for under another manager’s intent: that goes first', () => {
    const decision = afterDeath({ record: { revision: 2, intent: fetchIntent({ by: 'another' }) } })
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: 3, primary: shop0, intent: null })
    expect(ordersOf(decision)).toEqual([])
  })

  it('is given up when the primary is back', () => {
    expect(
      committed(
        decide(
          aSituation({
            record: { revision: 2, intent: fetchIntent() },
            views: { 'shop-1': promised(), 'shop-2': promised() },
          }),
        ),
      ),
    ).toMatchObject({ epoch: 2, revision: 3, primary: shop0, intent: null })
  })
})

describe('a manager that has just begun', () => {
  const unheard: SituationOverrides = { views: { 'shop-1': { unheard: true }, 'shop-2': { unheard: true } } }

  it('waits for a word of the replicas, rather than starting the server again where it was', () => {
    const decision = afterDeath({ ...unheard, leadsSinceMs: 1_000 })
    expect(decision).toMatchObject({ actions: [], revisitMs: 300 })
    expect(decision.sentence).toContain('this manager has just begun and waits for a word of shop-1 and shop-2')
  })

  it('believes no silence from before it led: it may have been starved itself', () => {
    const silent: SituationOverrides = {
      views: { 'shop-1': { reachable: false }, 'shop-2': { reachable: false } },
      nowMs: 3_100,
    }
    expect(afterDeath({ ...silent, leadsSinceMs: 3_000 }).sentence).toContain('waits for a word of shop-1 and shop-2')
    expect(ordersOf(afterDeath({ ...silent, leadsSinceMs: 500 }))[0]).toMatch(/^primary shop-0 .* may restart/)
  })

  it('waits no longer than for an answer', () => {
    expect(ordersOf(afterDeath({ ...unheard, leadsSinceMs: -4_000 }))[0]).toMatch(/^primary shop-0 .* may restart/)
  })
})

describe('where too few can promise', () => {
  it('the server is started again where it was', () => {
    const decision = afterDeath({ views: { 'shop-2': { reachable: false } } })
    expect(ordersOf(decision)).toEqual(['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 may restart 1@1'])
    expect(decision).toMatchObject({ flow: 'restart' })
    expect(decision.sentence).toContain(
      'restarting shop-0 in place: mysqld of shop-0 is dead, and 2 members of the sync set must promise, none did',
    )
  })

  it.each([
    ['forgot what they acknowledged', { 'shop-2': { stored: { forgetful: true } } }],
    ['are being seeded', { 'shop-2': { stored: { seeding: true } } }],
    ['have a dead mysqld', { 'shop-2': deadServer }],
  ] as const)('because they %s, it is started too', (_, views) => {
    expect(afterDeath({ views }).flow).toBe('restart')
  })

  it('a primary that promised itself is given the next epoch first', () => {
    expect(
      committed(
        afterDeath({
          record: { syncSet: [shop1], acks: 1 },
          views: { 'shop-0': promisedAsPrimary(103, deadServer), 'shop-1': { reachable: false } },
        }),
      ),
    ).toMatchObject({ epoch: 2, primary: shop0, syncSet: [shop1] })
  })

  it('and the primary’s agent is gone too, nothing is done: it is said who must come back', () => {
    const decision = decide(
      aSituation({
        nowMs: 5_000,
        views: {
          'shop-0': { reachable: false },
          'shop-1': lost,
          'shop-2': { server: { channel: { ioRunning: 'connecting' } } },
        },
      }),
    )
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toMatch(
      /^no automatic failover: shop-0 is unreachable .*2 members of the sync set must promise, none did; bring back shop-0, shop-1, or.*--accept-loss/,
    )
  })
})

describe('a tail that a stranger’s stop may have acknowledged', () => {
  const unsettled = { ...deadServer, stored: { unsettled: true } }

  it('and that a replica holds too: the primary’s agent must promise as well, after S', () => {
    const primary = { ...unsettled, binlogSet: gtids('shop-0', 100) }
    expect(ordersOf(afterDeath({ views: { 'shop-0': primary } }))).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(
      ordersOf(afterDeath({ views: { 'shop-0': primary, 'shop-1': promised(100), 'shop-2': promised(98) } })),
    ).toEqual(['promise shop-0 2@1'])
  })

  it('and that those who promised cannot put together in one place: the server is started again, with no epoch lost', () => {
    const more = promised(100)
    const errant = {
      ...more,
      promiseReport: {
        epoch: 2,
        holds: `${gtids('shop-0', 98)},${gtids('shop-2', 1)}`,
        executed: '',
        asPrimary: false,
      },
    }
    const decision = afterDeath({
      views: {
        'shop-0': { ...unsettled, binlogSet: gtids('shop-0', 100) },
        'shop-1': { ...promised(100), probe: 'diskFull' },
        'shop-2': errant,
        'shop-3': promised(99),
      },
      shape: { instances: 4 },
      record: { acks: 1, acksWanted: 1 },
    })
    expect(ordersOf(decision).filter((order) => order.startsWith('promise'))).toEqual([])
  })

  it('and the agent of the primary promised first: the replicas are still asked', () => {
    const primary = promisedAsPrimary(100, { ...unsettled, binlogSet: gtids('shop-0', 100) })
    expect(ordersOf(afterDeath({ views: { 'shop-0': primary } }))).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(committed(afterDeath({ views: { 'shop-0': primary, 'shop-1': promised(100) } }))).toMatchObject({
      epoch: 2,
      primary: shop1,
    })
  })

  it('and that no replica holds stays with its server, which is started again', () => {
    const decision = afterDeath({ views: { 'shop-0': { ...unsettled, binlogSet: gtids('shop-0', 105) } } })
    expect(ordersOf(decision)).toEqual(['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 may restart 1@1'])
  })

  it('and that only an instance holds which must not lead stays with its server', () => {
    const views = {
      'shop-0': { ...unsettled, binlogSet: gtids('shop-0', 105) },
      'shop-2': { server: { received: gtids('shop-0', 105) } },
    }
    expect(ordersOf(afterDeath({ views }))).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(afterDeath({ views, spec: { policies: { 'shop-2': never } } }).flow).toBe('restart')
  })
})

test('a dead primary whose instance lives on another volume is failed over through S', () => {
  const decision = decide(
    aSituation({
      views: { 'shop-0': { member: 'shop-0@other', stored: { promise: 0, revision: 0, assignment: null } } },
    }),
  )
  expect(ordersOf(decision).slice(0, 2)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
})

test('members that promised in vain are given back to a primary that is well', () => {
  expect(committed(decide(aSituation({ views: { 'shop-1': promised() } })))).toMatchObject({
    epoch: 2,
    revision: 2,
    primary: shop0,
    syncSet: [shop1, shop2],
  })
  expect(
    decide(
      aSituation({
        views: { 'shop-1': promised() },
        inFlight: new Map([['shop-2', { order: 'promise', sinceMs: 1_000 }]]),
      }),
    ).actions,
  ).toEqual([])
})
