import { expect, test } from 'vitest'
import { emptyNotes } from '#failover/protocol/notes.ts'
import { aSpec } from '#failover/testing.ts'
import { withPromotions } from './promotions.ts'

const spec = aSpec({ policies: { 'shop-1': { promotion: 'prefer', priority: 3 } } })
const said = (untilWallMs: number) => ({
  ...emptyNotes,
  annotations: { promotions: { 'shop-1': { promotion: 'never' as const, priority: 0, untilWallMs } } },
})

test('A policy that was said for a while takes the place of that of the spec, until its time is over', () => {
  expect(withPromotions(spec, said(1_001), 1_000).policies).toEqual({ 'shop-1': { promotion: 'never', priority: 0 } })
  expect(withPromotions(spec, said(1_000), 1_000).policies).toEqual(spec.policies)
  expect(withPromotions(spec, emptyNotes, 1_000)).toBe(spec)
})
