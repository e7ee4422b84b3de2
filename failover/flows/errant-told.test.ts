import { expect, it } from 'vitest'
import { gtids, uuidOf } from '#topology/testing.ts'
import { aSituation, shop2 } from '../testing.ts'
import { assignmentOrders } from '../steps/assignments.ts'

it.each([
  ['what its source is proven never to have had', '', gtids('shop-9', 2), gtids('shop-9', 2)],
  ['nothing more once it knows that', gtids('shop-9', 2), gtids('shop-9', 2), undefined],
  ['that it is not errant, once its source has answered so', gtids('shop-9', 2), '', ''],
  ['nothing while its source has not answered', gtids('shop-9', 2), null, undefined],
])('a replica is told %s', (_, errantTold, lacks, told) => {
  const as = `${shop2} ${uuidOf('shop-2')}`
  const compared = { question: 1, lacks: lacks === null ? {} : { 'shop-2': { as, gtids: lacks } } }
  const views = {
    'shop-0': { compared },
    'shop-2': { errantTold, server: { executed: `${gtids('shop-0', 100)},${gtids('shop-9', 2)}` } },
  }
  const [action] = assignmentOrders(aSituation({ views })).filter((one) => 'to' in one && one.to === 'shop-2')
  expect(action?.kind === 'assign' && action.order.role === 'replica' ? action.order.errant : undefined).toBe(told)
})
