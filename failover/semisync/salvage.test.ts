import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { fetchKey } from '../protocol/order.ts'
import {
  aSituation,
  committed,
  deadPrimary,
  deadServer,
  fetchIntent,
  lossIn,
  lostAgent,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  type SituationOverrides,
} from '../testing.ts'

/** Writes needed no acknowledgement. */
const asyncMode = { record: { acks: 0, acksWanted: 0 }, spec: { mode: 'async' as const } }

function after(given: SituationOverrides) {
  return decide(
    aSituation({
      ...given,
      record: { ...asyncMode.record, ...given.record },
      spec: { ...asyncMode.spec, ...given.spec },
    }),
  )
}

/** So many seconds may be lost, and no transaction that was heard of. */
const upTo = (seconds: number) =>
  ({ automatic: true, acceptLoss: 'upTo', acceptLossUpTo: { seconds, transactions: 0 } }) as const

/** The dead primary promised, and its binlog holds `last` transactions. */
const deadAndPromised = (last: number): ViewOverrides => ({
  ...deadServer,
  ...promisedAsPrimary(last),
  binlogSet: gtids('shop-0', last),
})

describe('In mode async, once mysqld of the primary is dead and its agent says so,', () => {
  it('those who can lead promise, and the agent of the primary at once, whose word is needed in any case', () => {
    const all = ['promise shop-1 2@1', 'promise shop-2 2@1', 'promise shop-0 2@1']
    expect(ordersOf(after({ views: { 'shop-0': deadPrimary } }))).toEqual(all)
    expect(ordersOf(after({ views: { 'shop-0': deadServer } }))).toEqual(all)
  })

  it('the primary is asked last while its mysqld runs, which the promise would end', () => {
    const hung = { process: 'stopped', processSinceMs: 1_300 } as const
    expect(ordersOf(after({ views: { 'shop-0': hung } }))).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    const views = { 'shop-0': hung, 'shop-1': promised(), 'shop-2': promised() }
    expect(ordersOf(after({ views }))).toEqual(['promise shop-0 2@1'])
  })

  it('one that is not in the sync set promises as well: what it lacks is on the volume', () => {
    const decision = after({ views: { 'shop-0': deadPrimary }, record: { syncSet: [] } })
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1', 'promise shop-0 2@1'])
  })

  it('nobody leads without what the volume alone has: an intent is put into the record', () => {
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(100), 'shop-2': promised(100) }
    expect(committed(after({ views }))).toMatchObject({
      epoch: 1,
      primary: shop0,
      intent: { kind: 'fetch', candidate: shop1 },
    })
  })

  it('the one that is elected fetches what the volume alone has', () => {
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(100), 'shop-2': promised(100) }
    const decision = after({ views, record: { intent: fetchIntent() } })
    expect(decision.actions).toMatchObject([
      { kind: 'fetch', to: 'shop-1', order: { salvage: shop0, until: gtids('shop-0', 103) } },
    ])
    expect(decision.sentence).toBe('failing over: shop-1 fetches 3 transactions from the volume of shop-0')
  })

  it('its fetch is waited for while its agent is there, and another one is elected once that is gone', () => {
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(100), 'shop-2': promised(99) }
    const given = { record: { intent: fetchIntent() }, inFlight: new Map([['shop-1', { order: 'fetch', sinceMs: 0 }]]) }
    expect(after({ ...given, views })).toMatchObject({ actions: [] })
    const gone = after({ ...given, views: { ...views, 'shop-1': { ...promised(100), reachable: false } } })
    expect(committed(gone)).toMatchObject({ epoch: 1, intent: { kind: 'fetch', candidate: shop2 } })
  })

  it('the most advanced one is elected, whatever its ordinal', () => {
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(90), 'shop-2': promised(100) }
    expect(committed(after({ views })).intent).toMatchObject({ candidate: shop2 })
  })

  it('it leads once it holds everything, and without any fetch where it does at once', () => {
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(103), 'shop-2': promised(100) }
    const record = committed(after({ views, record: { intent: fetchIntent() } }))
    expect(record).toMatchObject({ epoch: 2, primary: shop1, intent: null, elected: gtids('shop-0', 103) })
    expect(committed(after({ views }))).toMatchObject({ epoch: 2, primary: shop1 })
  })

  it('the primary starts again where it was when its volume gave nothing', () => {
    const failedRequests = new Map([
      [fetchKey(shop1, shop0), { why: 'its binlog is encrypted', timedOut: false }],
      [fetchKey(shop2, shop0), { why: 'its binlog is encrypted', timedOut: false }],
    ])
    const views = { 'shop-0': deadAndPromised(103), 'shop-1': promised(100), 'shop-2': promised(100) }
    expect(committed(after({ views, record: { intent: fetchIntent() }, failedRequests }))).toMatchObject({
      epoch: 2,
      primary: shop0,
    })
  })

  it('the primary starts again where it was when nobody else could lead', () => {
    const down = { ...deadServer, binlogSet: '' }
    const decision = after({ views: { 'shop-0': deadPrimary, 'shop-1': down, 'shop-2': lostAgent }, nowMs: 60_000 })
    expect(ordersOf(decision)).toEqual(['primary shop-0 counts [shop-1,shop-2] lets in [] k=0 may restart 1@1'])
  })
})

describe('In mode async, while nobody hears the agent of the primary,', () => {
  const lostTo = { server: { channel: { ioRunning: 'connecting' } } } as const
  const cut = { 'shop-0': { reachable: false }, 'shop-1': lostTo, 'shop-2': lostTo } as const
  const bothPromised = {
    'shop-0': { reachable: false },
    'shop-1': { ...lostTo, ...promised() },
    'shop-2': { ...lostTo, ...promised() },
  }
  const always = { mode: 'async', failover: { automatic: true, acceptLoss: 'always' } } as const
  const intent = fetchIntent()

  it('nobody leads: it is said who is awaited, and what ends that', () => {
    const decision = after({ views: cut, nowMs: 60_000 })
    expect(decision).toMatchObject({ blocked: true, actions: [] })
    expect(decision.sentence).toMatch(
      /^no automatic failover: shop-0 is unreachable .* only its agent knows which writes count; bring back shop-0, or give up what they hold: regent failover --accept-loss$/,
    )
  })

  it('those who answer promise, where the loss is accepted ahead of time', () => {
    expect(ordersOf(after({ views: cut, spec: always, nowMs: 60_000 }))).toEqual([
      'promise shop-1 2@1',
      'promise shop-2 2@1',
    ])
  })

  it('an intent ends the confirmations of managers, and the lease is waited for before anybody leads', () => {
    const given = { views: bothPromised, spec: always, nowMs: 60_000 }
    expect(committed(after(given))).toMatchObject({
      epoch: 1,
      primary: shop0,
      intent: { kind: 'fetch', candidate: shop1 },
    })
    const waiting = after({ ...given, record: { intent }, leaseBlockedSinceMs: 59_000 })
    expect(waiting).toMatchObject({ actions: [], flow: 'failover' })
    expect(waiting.sentence).toContain('waits until the lease has surely run out')
    expect(after({ ...given, record: { intent }, leaseBlockedSinceMs: null }).blocked).toBe(true)
  })

  it('one leads when the lease has surely run out, and the loss is told', () => {
    const decision = after({
      views: { ...bothPromised, 'shop-0': { reachable: false, server: { executed: gtids('shop-0', 107) } } },
      spec: always,
      record: { intent },
      nowMs: 60_000,
      leaseBlockedSinceMs: 50_000,
    })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1, intent: null })
    expect(lossIn(decision)).toEqual({ transactions: 7, unheardSeconds: 6 })
    expect(decision.sentence).toMatch(
      /^failing over to shop-1 with a loss that failover.acceptLoss allows: 7 transactions heard of shop-0, and whatever it took in its last 6 s; /,
    )
  })

  it.each<readonly [string, ViewOverrides]>([
    ['it is being seeded', { ...lostTo, stored: { seeding: true } }],
    ['its mysqld is down', deadServer],
    ['its data are in doubt', { ...lostTo, stored: { opened: true } }],
  ])('whoever cannot lead promises too, since its agent could confirm the lease: %s', (_, cannotLead) => {
    const given = { spec: always, nowMs: 60_000, leaseBlockedSinceMs: 50_000 }
    const decided = (view: ViewOverrides, record: NonNullable<SituationOverrides['record']>) =>
      after({ ...given, record, views: { ...bothPromised, 'shop-2': view } })
    for (const syncSet of [[shop1], [shop1, shop2]]) {
      expect(ordersOf(decided(cannotLead, { syncSet }))).toEqual(['promise shop-2 2@1'])
      const has = promised(100, cannotLead)
      expect(committed(decided(has, { syncSet }))).toMatchObject({ epoch: 1, intent: { candidate: shop1 } })
      expect(committed(decided(has, { syncSet, intent }))).toMatchObject({ epoch: 2, primary: shop1 })
    }
  })

  it('nobody leads while somebody could still confirm the lease', () => {
    const decision = after({
      views: { ...bothPromised, 'shop-2': lostAgent },
      spec: always,
      record: { intent },
      nowMs: 60_000,
      leaseBlockedSinceMs: 50_000,
    })
    expect(decision).toMatchObject({ blocked: true, actions: [] })
  })

  it.each([
    ['told', { errantTold: gtids('shop-2', 5) }],
    ['not told yet', {}],
  ])('an old primary leads nobody, and gives nobody what it alone has since it was given up, %s', (_, told) => {
    const alone = [gtids('shop-0', 100), gtids('shop-2', 5)].join()
    const old = { ...lostTo, ...told, server: { ...lostTo.server, executed: alone } }
    const views = { ...cut, 'shop-2': old }
    const record = { syncSet: [shop1] }
    expect(ordersOf(after({ views, record, spec: always, nowMs: 60_000 }))).toEqual(['promise shop-1 2@1'])
    const both = { ...views, 'shop-1': { ...lostTo, ...promised() }, 'shop-2': { ...old, ...promised(), ...old } }
    const decision = after({
      views: { ...both, 'shop-0': { reachable: false, reachedBy: 'ssh' } },
      record,
      spec: always,
      nowMs: 60_000,
    })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1, intent: null })
  })

  it.each(['sql', 'ssh'] as const)(
    'a far one, reached by %s, is waited for by nobody: no lease ends it',
    (reachedBy) => {
      const far = { reachable: false, reachedBy, server: { executed: gtids('shop-0', 107) } }
      const decision = after({ views: { ...bothPromised, 'shop-0': far }, spec: always, nowMs: 60_000 })
      expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1, intent: null })
      expect(decision.sentence).toContain('7 transactions heard of shop-0, and all that it took in the')
      expect(decision.sentence).toContain('s since, and takes until it is closed')
    },
  )

  it.each([
    [2_000, 5, true],
    [9_000, 7, false],
  ])('of a far one that was silent for %i ms the loss of %i s is accepted: %s', (silentMs, seconds, isAccepted) => {
    const far = { reachable: false, reachedBy: 'sql' } as const
    const failover = upTo(seconds)
    const decision = after({
      views: { ...bothPromised, 'shop-0': far },
      spec: { mode: 'async', failover },
      // It was heard last at 1,000.
      nowMs: 1_000 + silentMs,
    })
    expect(decision.actions.some(({ kind }) => kind === 'commit')).toBe(isAccepted)
  })

  it.each([
    ['far', 4, false],
    ['far', 5, true],
    ['near', 8, false],
    ['near', 9, true],
  ])(
    'what a %s one took while its own agent did not see it is lost as well: %i s, accepted: %s',
    (where, seconds, is) => {
      const reach = where === 'far' ? { reachedBy: 'ssh' as const } : {}
      const failover = upTo(seconds)
      const decision = after({
        // Its agent spoke last at 1,000, and its server had not answered that agent for 2.5 s.
        views: { ...bothPromised, 'shop-0': { reachable: false, silentMs: 2_500, ...reach } },
        spec: { mode: 'async', failover },
        record: where === 'far' ? {} : { intent },
        nowMs: where === 'far' ? 3_000 : 60_000,
        leaseBlockedSinceMs: where === 'far' ? null : 50_000,
      })
      expect(decision.actions.some(({ kind }) => kind === 'commit')).toBe(is)
    },
  )

  it.each([
    ['running', 4, false],
    ['running', 5, true],
    // Down for 2 s of those.
    ['dead', 2, false],
    ['dead', 3, true],
  ] as const)('what a far one that was %s took since a look of 2.5 s ago is lost: %i s, accepted: %s', (...row) => {
    const [process, seconds, is] = row
    const far = { reachable: false, reachedBy: 'ssh', process, processSinceMs: 2_000, lookAgeMs: 2_500 } as const
    const failover = upTo(seconds)
    // It was heard last at 1,000.
    const decision = after({
      views: { ...bothPromised, 'shop-0': far },
      spec: { mode: 'async', failover },
      nowMs: 3_000,
    })
    expect(decision.actions.some(({ kind }) => kind === 'commit')).toBe(is)
  })

  it('an agent that promised, told of more, and fell silent a moment ago is waited for', () => {
    const toldOf = (last: number) => ({
      ...deadAndPromised(last),
      reachable: false,
      reachedBy: 'ssh' as const,
    })
    const at = (nowMs: number, last: number) =>
      after({ views: { ...bothPromised, 'shop-0': toldOf(last) }, spec: always, nowMs })
    expect(at(5_999, 103)).toMatchObject({ actions: [], revisitMs: 1 })
    expect(at(5_999, 103).sentence).toBe(
      'failing over: shop-0 has promised and holds more; its agent is waited for, for 1 ms',
    )
    expect(committed(at(6_000, 103))).toMatchObject({ epoch: 2, primary: shop1 })
    // What it holds the others hold as well.
    expect(committed(at(3_000, 100))).toMatchObject({ epoch: 2, primary: shop1 })
  })

  it('what a far one is said to have lost counts from the moment in which it was stopped', () => {
    const stopped = {
      reachable: false,
      reachedBy: 'ssh',
      process: 'stopped',
      processSinceMs: 20_000,
      silentMs: 0,
    } as const
    const decision = after({ views: { ...bothPromised, 'shop-0': stopped }, spec: always, nowMs: 3_000 })
    expect(decision.sentence).toContain('all that it took in the 22 s since')
  })

  it.each([
    [
      'was dead by its last word',
      { reachable: false, reachedBy: 'ssh', process: 'dead', server: null, binlogSet: null },
    ],
    ['was never heard', { unheard: true }],
  ] as const)('a loss is within no bound where what the lost one held is not known: it %s', (_, gone) => {
    const views = {
      ...bothPromised,
      'shop-0': gone,
      'shop-1': { ...bothPromised['shop-1'], reachedBy: 'ssh' as const },
    }
    const bound = { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 3_600, transactions: 1_000_000 } } as const
    const upTo = after({ views, spec: { mode: 'async', failover: { automatic: true, ...bound } }, nowMs: 60_000 })
    expect(upTo.actions.some(({ kind }) => kind === 'commit')).toBe(false)
    const decision = after({ views, spec: always, nowMs: 60_000 })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1 })
    expect(decision.sentence).toContain('nobody heard what shop-0 held')
  })

  it('a far one that a replica still hears is not failed over, whatever is accepted', () => {
    const far = { reachable: false, reachedBy: 'sql' } as const
    const decision = after({ views: { 'shop-0': far, 'shop-1': lostTo }, spec: always, nowMs: 60_000 })
    expect(decision.actions.filter(({ kind }) => kind === 'promise' || kind === 'commit')).toEqual([])
    expect(decision.sentence).toContain('shop-2 still hears its server')
  })

  it.each([
    [1_040, false],
    [3_118, false],
    // Its certificate, or the login that it asks for, will not do: whoever says so is there.
    [2_026, false],
    [2_061, false],
    [2_003, true],
    [2_013, true],
  ])('a far one that refuses its replicas with error %i is dead: %s', (ioErrno, isDead) => {
    const lost = { server: { channel: { ioRunning: 'connecting', ioErrno } } } as const
    const far = { reachable: false, reachedBy: 'sql' } as const
    const decision = after({
      views: { 'shop-0': far, 'shop-1': lost, 'shop-2': lost },
      spec: always,
      nowMs: 60_000,
    })
    expect(decision.actions.some(({ kind }) => kind === 'promise')).toBe(isDead)
  })

  it('a far one that refuses its replicas is no dead one for a manager, either, that never heard its agent', () => {
    const lost = { reachedBy: 'sql', server: { channel: { ioRunning: 'connecting', ioErrno: 1_040 } } } as const
    const unheard = { unheard: true } as const
    const decision = after({
      views: { 'shop-0': unheard, 'shop-1': lost, 'shop-2': lost },
      spec: always,
      nowMs: 60_000,
    })
    expect(decision.actions.some(({ kind }) => kind === 'promise')).toBe(false)
  })

  it.each([
    ['sql', 60_000, 'hear', false],
    ['sql', 60_000, 'lost', false],
    ['ssh', 2_000, 'hear', false],
    ['ssh', 2_000, 'lost', true],
    ['ssh', 60_000, 'hear', true],
  ] as const)(
    'silence to %s for %i ms, where replicas %s it, calls for a failover: %s',
    (reachedBy, silentMs, how, isDead) => {
      const silent = { reachedBy, silentMs, probe: 'stuck' } as const
      const replicas = how === 'lost' ? { 'shop-1': lostTo, 'shop-2': lostTo } : {}
      const decision = after({ views: { 'shop-0': silent, ...replicas }, spec: always })
      expect(decision.actions.some(({ kind }) => kind === 'promise')).toBe(isDead)
    },
  )

  it('a far one that hangs and is heard is ended before those who hear it promise, and hear nobody', () => {
    const hangs = { reachedBy: 'ssh', silentMs: 60_000, probe: 'stuck' } as const
    const askedOf = (views: NonNullable<SituationOverrides['views']>) =>
      after({ views, spec: always }).actions.flatMap((action) => (action.kind === 'promise' ? [action.to] : []))
    expect(askedOf({ 'shop-0': hangs })).toEqual(['shop-0'])
    expect(askedOf({ 'shop-0': hangs, 'shop-1': lostTo })).toEqual(['shop-0'])
    expect(askedOf({ 'shop-0': hangs, 'shop-1': lostTo, 'shop-2': lostTo })).toEqual(['shop-1', 'shop-2'])
  })

  it('a far one that runs and lets nobody in more has too many connections, and is no dead one', () => {
    const full = { reachedBy: 'sql', silentMs: 60_000, probe: 'tooManyConnections' } as const
    const decision = after({ views: { 'shop-0': full, 'shop-1': lostTo, 'shop-2': lostTo }, spec: always })
    expect(decision.actions.filter(({ kind }) => kind === 'promise' || kind === 'commit')).toEqual([])
  })

  it.each([
    [{ seconds: 6, transactions: 7 }, true],
    [{ seconds: 6, transactions: 6 }, false],
    [{ seconds: 5, transactions: 7 }, false],
  ])('a loss up to %o is accepted: %s', (acceptLossUpTo, isAccepted) => {
    const decision = after({
      views: { ...bothPromised, 'shop-0': { reachable: false, server: { executed: gtids('shop-0', 107) } } },
      spec: { mode: 'async', failover: { automatic: true, acceptLoss: 'upTo', acceptLossUpTo } },
      record: { intent },
      nowMs: 60_000,
      leaseBlockedSinceMs: 50_000,
    })
    expect(decision.actions.some(({ kind }) => kind === 'commit')).toBe(isAccepted)
  })
})
