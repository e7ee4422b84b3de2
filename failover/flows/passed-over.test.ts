import { expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { aSituation, type SituationOverrides } from '../testing.ts'
import { assignmentOrders } from '../steps/assignments.ts'

/** It counts, and was told so with these words. */
const counted = (told: { readonly passedOver?: true } = {}): ViewOverrides => ({
  stored: {
    assignment: { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0', ...told },
  },
})

function toldTo(instance: string, given: SituationOverrides) {
  return assignmentOrders(aSituation(given)).find((action) => action.kind === 'assign' && action.to === instance)
}

it('A replica is told that it was passed over, once, and that it was not once that is mended', () => {
  const passedOver = new Map([['shop-2', gtids('shop-0', 2)]])
  expect(toldTo('shop-2', { passedOver, views: { 'shop-2': counted() } })).toMatchObject({
    order: { passedOver: true },
  })
  expect(toldTo('shop-2', { passedOver, views: { 'shop-2': counted({ passedOver: true }) } })).toBeUndefined()
  const mended = { views: { 'shop-2': counted({ passedOver: true }) }, passedOver: new Map([['shop-2', '']]) }
  expect(toldTo('shop-2', mended)).toMatchObject({ order: { role: 'replica' } })
  expect(toldTo('shop-2', mended)).not.toHaveProperty('order.passedOver')
})

it('Nobody is told to stop for what all replicas lack alike, but the only replica there is', () => {
  const lacking = gtids('shop-0', 2)
  const all = new Map([
    ['shop-1', lacking],
    ['shop-2', lacking],
  ])
  const alike = { passedOver: all, views: { 'shop-1': counted(), 'shop-2': counted() } }
  expect(toldTo('shop-1', alike)).toBeUndefined()
  expect(toldTo('shop-2', alike)).toBeUndefined()
})
