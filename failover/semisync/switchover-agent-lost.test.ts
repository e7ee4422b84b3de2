import { describe, expect, it, test } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import type { PromiseOrder } from '../protocol/order.ts'
import {
  aSituation,
  committed,
  fetchIntent,
  lostAgent,
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

/** The agent of the primary was heard last at 1,000; its server runs on, and the replicas hear the server. */
const silent = { nowMs: 1_900 }
const lost = { nowMs: 2_300 }

/** It told of its demotion before it fell silent. */
const demotedAndLost: ViewOverrides = { ...promisedAsPrimary(107), ...lostAgent }

function underWay(given: SituationOverrides) {
  return decide(aSituation({ ...given, record: { intent: switchoverIntent(), ...given.record } }))
}

describe('a primary that was demoted, and whose agent fell silent then,', () => {
  it('needs not say again what it holds: the switchover goes on', () => {
    const decision = underWay({ ...silent, views: { 'shop-0': demotedAndLost } })
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    const orders = decision.actions.flatMap((action) => (action.kind === 'promise' ? [action.order] : []))
    expect(orders.map(({ after }: PromiseOrder) => after)).toEqual([gtids('shop-0', 107), gtids('shop-0', 107)])
  })

  it('is no member of the next sync set, since nobody tells whether it will follow', () => {
    const views = { 'shop-0': demotedAndLost, 'shop-1': promised(107), 'shop-2': promised(107) }
    const next = committed(underWay({ ...silent, views }))
    expect(next).toMatchObject({ epoch: 2, primary: shop1, intent: null })
    expect(namesOf(next.syncSet)).toBe('shop-2')
  })

  it('goes on without writes for nobody: past the usual time the sync set is asked', () => {
    const given = { ...lost, views: { 'shop-0': demotedAndLost } }
    expect(ordersOf(underWay(given))).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    const undone = decide(aSituation({ ...given, record: { revision: 2 } }))
    expect(ordersOf(undone)).toEqual(['promise shop-1 2@2', 'promise shop-2 2@2'])
    expect(undone.sentence).toContain('shop-0 is closed for epoch 2, and its agent is silent')
  })

  it('is not waited for, where the next epoch was given to it and it was not heard to open', () => {
    const decision = decide(
      aSituation({ ...lost, record: { epoch: 2, revision: 2 }, views: { 'shop-0': demotedAndLost } }),
    )
    expect(ordersOf(decision)).toEqual(['promise shop-1 3@2', 'promise shop-2 3@2'])
  })
})

describe('a primary whose agent fell silent before it told whether it was demoted', () => {
  const views = { 'shop-0': lostAgent }
  const failed = { failedRequests: new Map([['request-1', { why: 'no answer in time', timedOut: true }]]) }

  it('cannot be opened by anybody: the switchover is not taken back', () => {
    for (const given of [failed, { wallMs: 1_010_001 }]) {
      const decision = underWay({ ...silent, ...given, views })
      expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
      expect(decision).toMatchObject({ blocked: true })
      expect(decision.sentence).toContain('only its own agent, which is silent, can open shop-0 again')
      expect(decision.revisitMs).toBeLessThanOrEqual(1_000)
    }
  })

  it('is failed over after the usual time', () => {
    const decision = underWay({ ...lost, ...failed, views })
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(decision.flow).toBe('failover')
    expect(decision.sentence).toContain('shop-0 may be closed for a switchover, and its agent is silent')
  })

  it('by the next manager too, which keeps what it found in the record', () => {
    const intent = switchoverIntent({ by: 'another' })
    const heard = aSituation({ ...lost, record: { intent }, views: { 'shop-0': { ...lostAgent, unheard: true } } })
    const next = committed(decide(heard))
    expect(next).toMatchObject({ epoch: 1, revision: 2, primary: shop0, intent: { ...intent, by: 'me' } })
    expect(ordersOf(decide({ ...heard, record: next }))).toEqual(['promise shop-1 2@2', 'promise shop-2 2@2'])
  })

  it('until somebody else than its candidate wins: what is known stays in the record', () => {
    const promises = { 'shop-1': promised(107), 'shop-2': promised(107) }
    const spec = { policies: { 'shop-1': { promotion: 'never', priority: 0 } as const } }
    const next = committed(underWay({ ...lost, spec, views: { ...views, ...promises } }))
    expect(next).toMatchObject({ epoch: 1, primary: shop0, intent: { kind: 'switchover', candidate: shop2 } })
  })

  it('and whose server the replicas lost as well is failed over as ever', () => {
    const gone: ViewOverrides = { server: { channel: { ioRunning: 'connecting', silentMs: 5_000 } } }
    const decision = underWay({ ...lost, views: { ...views, 'shop-1': gone, 'shop-2': gone } })
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
    expect(decision.sentence).toContain('unreachable for this manager and for shop-1 and shop-2')
  })

  it('is asked for again where it answers: the switchover is taken back', () => {
    const decision = underWay({ ...failed, record: { revision: 2 } })
    expect(committed(decision)).toMatchObject({ epoch: 1, primary: shop0, intent: null })
  })

  it('in mode async may be taking writes: nobody acknowledges, and nobody leads for that', () => {
    const spec = { mode: 'async', acks: 0 } as const
    const decision = underWay({ ...lost, ...failed, spec, record: { acks: 0, acksWanted: 0 }, views })
    expect(decision.actions.filter(({ kind }) => kind === 'commit' || kind === 'promise')).toEqual([])
    expect(decision.sentence).toContain('only its own agent, which is silent, can open shop-0 again')
  })
})

test('a failover that fetches goes on where a replica hears the server of the primary again', () => {
  const views = { 'shop-0': lostAgent, 'shop-1': promised(105) }
  const decision = decide(aSituation({ ...lost, record: { intent: fetchIntent() }, views }))
  expect(ordersOf(decision)).toEqual(['promise shop-2 2@1'])
})

test('an agent that is lost while nothing is under way costs no writes', () => {
  const decision = decide(aSituation({ ...lost, views: { 'shop-0': lostAgent } }))
  expect(decision.actions.filter(({ kind }) => kind === 'commit' || kind === 'promise')).toEqual([])
  expect(decision.sentence).toContain('still hear its server')
})
