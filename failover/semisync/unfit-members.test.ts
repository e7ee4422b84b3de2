import { describe, expect, it } from 'vitest'
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
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
} from '../testing.ts'

/** shop-0 is demoted and shop-1 has caught up; shop-2 promised too. */
function switchedOver(views: SituationOverrides['views']) {
  return committed(
    decide(
      aSituation({
        record: { intent: switchoverIntent() },
        views: { 'shop-0': promisedAsPrimary(100), 'shop-1': promised(100), ...views },
      }),
    ),
  )
}

describe('A member that may have forgotten what it received', () => {
  const forgetful = { stored: { forgetful: true } }

  const forcedWith = (views: SituationOverrides['views'], acceptLoss = true) =>
    decide(
      aSituation({
        nowMs: 5_000,
        requests: [{ kind: 'failover', id: 'request-1', to: null, acceptLoss }],
        views: { 'shop-0': { reachable: false }, 'shop-1': { reachable: false }, ...views },
      }),
    )

  it('is never elected where no loss is accepted, nor by force where another one may lead', () => {
    expect(forcedWith({ 'shop-2': promised(100, forgetful) }, false).actions).toEqual([])
    const decision = forcedWith({ 'shop-1': promised(100), 'shop-2': promised(100, forgetful) })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1 })
    const behind = forcedWith({ 'shop-1': promised(97), 'shop-2': promised(100, forgetful) })
    expect(committed(behind)).toMatchObject({ epoch: 1, intent: { kind: 'fetch', candidate: shop1 } })
    expect(decision.reasons.join()).toContain('shop-2 is not chosen: it may have forgotten what it received')
  })

  it('leads by force where nobody else may, and what it forgot is named as lost', () => {
    const decision = forcedWith({ 'shop-2': promised(100, forgetful) })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop2, syncSet: [] })
    expect(decision.sentence).toContain('are given up, and so is what shop-2 forgot')
  })

  it('leads by force where nobody else may, also where it was open for writes', () => {
    const opened = promised(100, { stored: { opened: true } })
    expect(forcedWith({ 'shop-2': opened }, false).actions).toEqual([])
    expect(committed(forcedWith({ 'shop-1': promised(100), 'shop-2': opened })).primary).toBe(shop1)
    expect(committed(forcedWith({ 'shop-2': opened }))).toMatchObject({ epoch: 2, primary: shop2, syncSet: [] })
    const behind = forcedWith({ 'shop-1': promised(97), 'shop-2': opened })
    expect(committed(behind)).toMatchObject({ epoch: 1, intent: { kind: 'fetch', candidate: shop1 } })
  })

  it.each([{ gtidsReset: true as const, fromThePast: true }, { filterSeen: true }])(
    'does not lead by force where %j says that what it holds is not whole',
    (doubt) => {
      const decision = forcedWith({ 'shop-2': promised(100, { stored: { forgetful: true, ...doubt } }) })
      expect(decision).toMatchObject({ actions: [], blocked: true })
    },
  )

  it('is in the new sync set neither after a switchover nor after a forced failover', () => {
    expect(namesOf(switchedOver({ 'shop-2': promised(100, forgetful) }).syncSet)).toBe('shop-0')
    const views = {
      'shop-0': { reachable: false },
      'shop-1': { reachable: false },
      'shop-2': promised(100),
      'shop-3': promised(100, forgetful),
      'shop-4': promised(100),
    }
    const forced = aSituation({
      nowMs: 5_000,
      shape: { instances: 5 },
      record: { syncSet: [shop1], acks: 1, acksWanted: 1 },
      requests: [{ kind: 'failover', id: 'request-1', to: null, acceptLoss: true }],
      views,
    })
    expect(namesOf(committed(decide(forced)).syncSet)).toBe('shop-4')
  })
})

it('A member whose volume went back in time does not lead although it holds the most', () => {
  const views = {
    'shop-0': deadServer,
    'shop-1': promised(100, { stored: { fromThePast: true } }),
    'shop-2': promised(97),
  }
  expect(committed(decide(aSituation({ nowMs: 5_000, views })))).toMatchObject({
    epoch: 1,
    intent: { kind: 'fetch', candidate: shop2 },
  })
})

it('A member with errant transactions is not in the new sync set', () => {
  const holds = `${gtids('shop-0', 100)},${gtids('shop-2', 3)}`
  const errant = { promiseReport: { epoch: 2, holds, executed: holds, asPrimary: false }, stored: { promise: 2 } }
  expect(namesOf(switchedOver({ 'shop-2': errant }).syncSet)).toBe('shop-0')
})

it('A member that is leaving the sync set is not seeded again before it has left: until a marker proves it, it may be all that holds a write', () => {
  const own = gtids('shop-0', 100)
  const told = {
    assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
  } as const
  const errant = { server: { executed: `${own},${gtids('shop-2', 3)}`, received: own }, stored: told }
  const orders = (leaving: boolean) =>
    ordersOf(
      decide(
        aSituation({
          record: leaving ? { syncSet: [shop1, shop2], leaving: [shop2] } : { syncSet: [shop1] },
          views: { 'shop-0': { markedRevision: 0, server: { openGates: ['shop-1'] } }, 'shop-2': errant },
        }),
      ),
    )
  expect(orders(false).join()).toContain('reseed shop-2')
  expect(orders(true).join()).not.toContain('reseed')
})
