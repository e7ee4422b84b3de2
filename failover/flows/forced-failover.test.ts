import { describe, expect, it } from 'vitest'
import { gtids, memberOf } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import type { Request } from '../judge/situation.ts'
import { fetchKey } from '../protocol/order.ts'
import {
  aSituation,
  committed,
  deadServer,
  fetchIntent,
  never,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
  lossIn,
} from '../testing.ts'
import { unknownLoss } from '../protocol/notes.ts'

const shop3 = memberOf('shop-3')

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
    expect(lossIn(decision)).toEqual(unknownLoss)
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

  describe('to the one that was named, where another one who promised holds more', () => {
    const named = request(true, 'shop-2')
    const views = { 'shop-2': promised(97), 'shop-3': promised(99), 'shop-4': { reachable: false } }
    const given: SituationOverrides = { shape: { instances: 5 }, views }
    const revision = 2
    const afterIntent: SituationOverrides = {
      ...given,
      record: { revision, intent: fetchIntent({ candidate: shop2 }) },
      views: {
        ...views,
        'shop-2': promised(97, { stored: { revision } }),
        'shop-3': promised(99, { stored: { revision } }),
      },
    }
    const failedRequests = new Map([[fetchKey(shop2, shop3), { why: 'not in time', timedOut: true }]])

    it('lets it fetch what it lacks, under an intent', () => {
      expect(committed(forced(given))).toMatchObject({ primary: shop3 })
      expect(committed(forced(given, named))).toMatchObject({
        epoch: 1,
        primary: shop0,
        intent: { kind: 'fetch', candidate: shop2 },
      })
      const decision = forced(afterIntent, named)
      expect(ordersOf(decision)).toEqual(['fetch shop-2 2@2'])
      expect(decision.actions).toMatchObject([{ order: { from: { instance: 'shop-3' }, until: gtids('shop-0', 99) } }])
    })

    it('waits for that, and lets it lead with everything then', () => {
      const inFlight = new Map([['shop-2', { order: 'fetch', sinceMs: 4_900 }]])
      expect(forced({ ...afterIntent, inFlight }, named)).toMatchObject({ actions: [], blocked: false })
      const fetched = promised(99, { stored: { revision } })
      expect(
        committed(forced({ ...afterIntent, views: { ...afterIntent.views, 'shop-2': fetched } }, named)),
      ).toMatchObject({ epoch: 2, primary: shop2, intent: null, elected: gtids('shop-0', 99) })
    })

    it('lets it lead with less where that failed, once no fetch can come any more, and says who holds what is given up', () => {
      expect(committed(forced({ ...afterIntent, failedRequests }, named))).toMatchObject({ epoch: 1, intent: null })
      const decision = forced({ ...given, failedRequests }, named)
      expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop2 })
      expect(decision.sentence).toContain('are given up, and so is what shop-3 could not give it')
    })

    it('takes nobody into its sync set then who holds what it lacks', () => {
      const acks = { acks: 1, acksWanted: 1 }
      const decision = forced({ ...given, record: acks, failedRequests }, named)
      expect(committed(decision)).toMatchObject({ ...acks, epoch: 2, primary: shop2, syncSet: [] })
    })

    it('fetches nothing of an old copy, or of one that was filtered', () => {
      for (const doubt of [{ filterSeen: true }, { gtidsReset: true as const }]) {
        const doubted = { ...views, 'shop-3': promised(99, { stored: doubt }) }
        expect(committed(forced({ ...given, views: doubted }, named))).toMatchObject({ epoch: 2, primary: shop2 })
      }
    })
  })

  it('lets the one that leads fetch what an instance has that may not lead', () => {
    const given: SituationOverrides = {
      shape: { instances: 4 },
      spec: { policies: { 'shop-3': never } },
      views: { 'shop-2': promised(97), 'shop-3': promised(99) },
    }
    expect(committed(forced(given))).toMatchObject({ epoch: 1, intent: { kind: 'fetch', candidate: shop2 } })
  })

  describe('where only one that forgot something holds what the others lack', () => {
    const views = { 'shop-2': promised(3), 'shop-3': promised(99, { stored: { forgetful: true } }) }
    const given: SituationOverrides = { shape: { instances: 4 }, views }
    const failed = {
      ...given,
      failedRequests: new Map([[fetchKey(shop2, shop3), { why: 'not in time', timedOut: true }]]),
    }

    it('lets another one fetch it', () => {
      expect(committed(forced(given))).toMatchObject({ epoch: 1, intent: { kind: 'fetch', candidate: shop2 } })
    })

    it('lets that one lead where the fetch failed, rather than give up what is held', () => {
      const decision = forced(failed)
      expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop3 })
      expect(decision.sentence).toContain('are given up, and so is what shop-3 forgot')
    })

    it('lets the one lead that a person named', () => {
      expect(committed(forced(failed, request(true, 'shop-2')))).toMatchObject({ epoch: 2, primary: shop2 })
    })
  })

  it('gives nothing up that an instance holds which may not lead, where nobody could fetch it, unless a person names who leads', () => {
    const given: SituationOverrides = {
      shape: { instances: 4 },
      spec: { policies: { 'shop-3': never } },
      views: { 'shop-2': promised(97), 'shop-3': promised(99) },
      failedRequests: new Map([[fetchKey(shop2, shop3), { why: 'not in time', timedOut: true }]]),
    }
    expect(forced(given)).toMatchObject({
      blocked: true,
      actions: [],
      sentence:
        'no forced failover: shop-2 lacks 2 transactions that others hold who run, and could not fetch them; to give them up, use: regent failover --accept-loss --to shop-2',
    })
    expect(committed(forced(given, request(true, 'shop-2')))).toMatchObject({ epoch: 2, primary: shop2 })
  })

  it('waits for one that is heard and whose start is not noted yet, and for nobody who is silent', () => {
    const views = { 'shop-2': promised(97) }
    const decision = forced({ nowMs: 2_199, views })
    expect(decision).toMatchObject({ actions: [], blocked: false })
    expect(decision.sentence).toBe('forced failover: waiting until the start of shop-0 and shop-1 is noted')
    expect(committed(forced({ nowMs: 2_200, views }))).toMatchObject({ epoch: 2, primary: shop2 })
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

  it('first makes another manager’s intent its own, which tells what may have closed the silent primary', () => {
    const decision = forced({ record: { intent: switchoverIntent({ by: 'another' }) } })
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: 2, primary: shop0, intent: { by: 'me' } })
    expect(ordersOf(decision)).toEqual([])
    expect(ordersOf(forced({ record: { revision: 2, intent: switchoverIntent() } }))).toEqual(['promise shop-2 2@2'])
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
