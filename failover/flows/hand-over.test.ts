import { describe, expect, it } from 'vitest'
import { decide } from '../decide.ts'
import { planSwitchover } from '../semisync/switchover.ts'
import { aSituation, committed, shop1, shop2 } from '../testing.ts'

const ending = { terminating: true } as const

describe('An instance that is told to end', () => {
  it('hands over first where it is the primary’s', () => {
    const decision = decide(aSituation({ views: { 'shop-0': ending } }))
    expect(committed(decision)).toMatchObject({
      intent: { kind: 'switchover', candidate: shop1, reason: 'shop-0 is told to end' },
    })
    expect(decision.flow).toBe('switchover')
  })

  it('is no candidate: of two that end with it, the third leads', () => {
    expect(planSwitchover(aSituation({ views: { 'shop-1': ending } }), null)).toMatchObject({ candidate: shop2 })
  })

  it('leaves the sync set, and comes back into it when it stays after all', () => {
    expect(committed(decide(aSituation({ views: { 'shop-2': ending } })))).toMatchObject({ leaving: [shop2] })
    expect(committed(decide(aSituation({ record: { leaving: [shop2] } })))).toMatchObject({ leaving: [] })
  })

  it('does not join the sync set', () => {
    expect(
      decide(aSituation({ record: { syncSet: [shop1] }, views: { 'shop-2': ending } })).actions.filter(
        ({ kind }) => kind === 'commit',
      ),
    ).toEqual([])
  })

  it('says why it cannot hand over where nobody can take over', () => {
    const decision = decide(
      aSituation({ record: { syncSet: [shop1] }, views: { 'shop-0': ending, 'shop-1': ending, 'shop-2': ending } }),
    )
    expect(decision).toMatchObject({
      blocked: true,
      sentence: expect.stringContaining(
        'primary shop-0 is told to end and cannot hand over: no replica can take over',
      ) as string,
    })
  })
})
