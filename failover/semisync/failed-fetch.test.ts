import { describe, expect, it } from 'vitest'
import type { MemberId } from '#topology/snapshot/member.ts'
import { hostOf, type ViewOverrides } from '#topology/testing.ts'
import { fetchKey } from '../protocol/order.ts'
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
  fetchIntent,
  never,
} from '../testing.ts'
import { afterDeath, lost } from './testing-death.ts'

describe('a fetch that failed', () => {
  const behind = (more: ViewOverrides = {}) => promised(99, { ...more, stored: { revision: 2 } })
  const whole = promised(103, { stored: { revision: 2 } })
  const given: SituationOverrides = { record: { revision: 2, intent: fetchIntent(), acks: 1, acksWanted: 1 } }
  const failedFrom = (...sources: readonly MemberId[]) =>
    new Map(
      sources.map((source) => [
        fetchKey(shop1, source),
        { why: 'REGENT_TIMED_OUT: not within 5000 ms', timedOut: true },
      ]),
    )
  const four: SituationOverrides = {
    ...given,
    shape: { instances: 4 },
    spec: { policies: { 'shop-2': never, 'shop-3': never } },
  }

  it('is not ordered again: another source gives', () => {
    const decision = afterDeath({
      ...four,
      views: { 'shop-1': behind(), 'shop-2': whole, 'shop-3': whole },
      failedRequests: failedFrom(shop2),
    })
    expect(ordersOf(decision)[0]).toBe('fetch shop-1 2@2')
    expect(decision.actions.find((action) => action.kind === 'fetch')).toMatchObject({
      order: { from: { instance: 'shop-3' } },
    })
  })

  it('from everybody who could give: the server is started again where it was, and it is said what failed', () => {
    const decision = afterDeath({
      ...given,
      spec: { policies: { 'shop-2': never } },
      views: { 'shop-1': behind(), 'shop-2': whole },
      failedRequests: failedFrom(shop2),
    })
    expect(ordersOf(decision)[0]).toMatch(/^primary shop-0 .* may restart/)
    expect(decision.sentence).toContain(
      'restarting shop-0 in place: mysqld of shop-0 is dead, and shop-1 could not fetch what it lacks from shop-2 (REGENT_TIMED_OUT: not within 5000 ms)',
    )
  })

  it('from a demoted primary, whose gate may be closed: that one goes on in the next epoch', () => {
    const demoted = promisedAsPrimary(103, { probe: 'readOnlyFilesystem', stored: { revision: 2 } })
    const views = { 'shop-0': demoted, 'shop-1': behind(), 'shop-2': { reachable: false } }
    const decision = afterDeath({ ...given, views, failedRequests: failedFrom(shop0) })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, intent: null })
    const asks = afterDeath({ ...given, views })
    expect(ordersOf(asks)[0]).toBe('fetch shop-1 2@2')
  })

  it('and the primary’s agent is gone: nothing is ordered, and it is said what failed', () => {
    const views = {
      'shop-0': lost,
      'shop-1': behind({ server: { channel: { ioRunning: 'connecting' } } }),
      'shop-2': { ...whole, server: { channel: { ioRunning: 'connecting' } } },
    } as const
    const decision = decide(
      aSituation({
        ...given,
        nowMs: 5_000,
        spec: { policies: { 'shop-2': never } },
        views,
        failedRequests: failedFrom(shop2),
      }),
    )
    expect(ordersOf(decision).filter((order) => order.startsWith('fetch'))).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toMatch(/^no automatic failover: .*shop-1 could not fetch what it lacks from shop-2/)
  })
})

it('A fetch from another member goes on although the agent of the lost primary is silent: nobody hears that primary', () => {
  const channel = { sourceHost: hostOf('shop-2'), silentMs: 10 }
  const decision = decide(
    aSituation({
      nowMs: 5_000,
      record: { revision: 2, intent: fetchIntent(), acks: 1, acksWanted: 1 },
      spec: { policies: { 'shop-2': never } },
      views: {
        'shop-0': lost,
        'shop-1': { promiseReport: null, stored: { promise: 2, revision: 2 }, server: { channel } },
        'shop-2': promised(103, { stored: { revision: 2 }, server: { channel: { ioRunning: 'no', silentMs: null } } }),
      },
      inFlight: new Map([['shop-1', { order: 'fetch', sinceMs: 4_900 }]]),
    }),
  )
  expect(decision).toMatchObject({ flow: 'failover', condition: 'primaryDead' })
  expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
})
