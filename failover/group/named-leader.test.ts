import { expect, it } from 'vitest'
import { decide } from '../decide.ts'
import { promised, shop0 } from '../testing.ts'
import { aGroupSituation, nobodyIn } from './testing-group.ts'

const views = { 'shop-0': promised(100), 'shop-1': promised(100), 'shop-2': promised(98) }
const asked = (acceptLoss: boolean) => ({ kind: 'failover', id: 'asked', to: 'shop-2', acceptLoss }) as const
const after = (acceptLoss: boolean) =>
  decide(aGroupSituation({ sees: nobodyIn, nowMs: 10_000, views, requests: [asked(acceptLoss)] }))

it('A person who names one that lacks something is answered by the group that the one with everything forms', () => {
  const decision = after(false)
  expect(decision.actions).toMatchObject([{ kind: 'commit', isAnswer: true, next: { primary: shop0 } }])
  expect(decision.sentence).toMatch(/^shop-2 lacks 2 transactions; shop-0 forms the group anew: it holds all 100/)
})

it('With loss accepted the one that was named forms the group', () => {
  expect(after(true).sentence).toMatch(/^shop-2 forms the group anew: a person chose its 98 transactions/)
})
