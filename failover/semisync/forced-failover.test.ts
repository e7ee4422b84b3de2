import { describe, expect, it } from 'vitest'
import { gtids } from '../../topology/testing.ts'
import { decide } from '../decide.ts'
import type { Request } from '../judge/situation.ts'
import {
  aSituation,
  committed,
  deadServer,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
} from '../testing.ts'

const request = (acceptLoss: boolean, to: string | null = null): Request => ({
  kind: 'failover',
  id: 'request-1',
  to,
  acceptLoss,
})

/** The primary's machine is gone, and shop-1 with it. */
function forced(given: SituationOverrides = {}, asked = request(true)) {
  return decide(
    aSituation({
      nowMs: 5_000,
      requests: [asked],
      ...given,
      views: { 'shop-0': { reachable: false }, 'shop-1': { reachable: false }, 'shop-2': {}, ...given.views },
    }),
  )
}

describe('a forced failover that accepts loss', () => {
  it('asks whoever runs to promise', () => {
    expect(ordersOf(forced())).toEqual(['promise shop-2 2@1'])
  })

  it('lets the one lead that holds the most, and says who may have held more', () => {
    const decision = forced({ views: { 'shop-2': promised(97) } })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop2, syncSet: [] })
    expect(decision.sentence).toContain(
      'forced failover to shop-2: writes that only shop-0 and shop-1 hold are given up',
    )
  })

  it('lets one lead that is outside of the sync set', () => {
    expect(committed(forced({ record: { syncSet: [shop1] }, views: { 'shop-2': promised(97) } }))).toMatchObject({
      epoch: 2,
      primary: shop2,
    })
  })

  it('lets the one lead that was named, although another holds more', () => {
    const given: SituationOverrides = {
      shape: { instances: 5 },
      views: { 'shop-2': promised(97), 'shop-3': promised(99), 'shop-4': { reachable: false } },
    }
    expect(committed(forced(given))).toMatchObject({ primary: 'shop-3@volume-3' })
    expect(committed(forced(given, request(true, 'shop-2')))).toMatchObject({ primary: shop2 })
  })

  it('is a safe one while that is possible', () => {
    const decision = forced({ views: { 'shop-1': promised(100), 'shop-2': promised(97) } })
    expect(committed(decision)).toMatchObject({ primary: shop1 })
    expect(decision.sentence).toContain('which holds everything acknowledged')
  })

  it('does not wait for an instance that is being seeded', () => {
    const decision = forced({
      shape: { instances: 4 },
      views: { 'shop-2': promised(97), 'shop-3': { stored: { seeding: true } } },
    })
    expect(committed(decision)).toMatchObject({ primary: shop2 })
  })

  it('takes another manager’s intent out of the record first', () => {
    const decision = forced({ record: { intent: switchoverIntent({ by: 'another' }) } })
    expect(committed(decision)).toMatchObject({ epoch: 1, primary: shop0, intent: null })
    expect(ordersOf(decision)).toEqual([])
  })

  it('is not done to a primary that is well', () => {
    const decision = decide(aSituation({ requests: [request(true)] }))
    expect(decision).toMatchObject({ actions: [], flow: null })
  })

  it('says why nobody can lead', () => {
    const decision = forced({
      views: { 'shop-2': promised(97) },
      spec: { policies: { 'shop-2': { promotion: 'never', priority: 0 } } },
    })
    expect(decision).toMatchObject({
      blocked: true,
      actions: [],
      reasons: ['shop-2 is not chosen: its policy is never'],
    })
  })
})

describe('a failover by hand that accepts no loss', () => {
  it('is done although automatic ones are off, paused, or one was just done', () => {
    const gates: SituationOverrides = {
      spec: { failover: { automatic: false, windowMs: 60_000 } },
      notes: { paused: { reason: 'maintenance', wallMs: 0 }, lastFailoverWallMs: 999_000 },
    }
    const decision = forced({ ...gates, views: { 'shop-0': deadServer, 'shop-1': {} } }, request(false))
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
  })

  it('promotes the one that was named, which fetches what it lacks', () => {
    const views = { 'shop-0': deadServer, 'shop-1': promised(103), 'shop-2': promised(100) }
    expect(committed(forced({ views }, request(false, 'shop-2')))).toMatchObject({
      epoch: 1,
      intent: { kind: 'fetch', candidate: shop2 },
    })
  })

  it('gives nothing up that may have been acknowledged', () => {
    expect(forced({ views: { 'shop-2': promised(97) } }, request(false))).toMatchObject({ actions: [], blocked: true })
  })

  it('starts the primary again where its own binlog alone has everything', () => {
    const views = {
      'shop-0': promisedAsPrimary(105, { ...deadServer, binlogSet: gtids('shop-0', 105) }),
      'shop-2': promised(97),
    }
    expect(committed(forced({ record: { syncSet: [], acks: 1 }, views }, request(false)))).toMatchObject({
      epoch: 2,
      primary: shop0,
    })
  })
})
