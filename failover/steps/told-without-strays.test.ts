import { expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { aSituation, ordersOf, shop1 } from '../testing.ts'
import { assignmentOrders } from './assignments.ts'

const acting = (role: 'primary' | 'replica', counted: boolean) => ({
  revision: 2,
  assignment: { epoch: 1, revision: 2, role, counted, fenced: false, source: role === 'primary' ? null : 'shop-0' },
})

/** The primary let shop-2 in to catch up, whose agent stores no newer revision. */
const views: Readonly<Record<string, ViewOverrides>> = {
  'shop-0': {
    stored: acting('primary', false),
    converged: { revision: 2, done: true, sentence: '' },
    server: { openGates: ['shop-1', 'shop-2'] },
  },
  'shop-1': { stored: acting('replica', true) },
  'shop-2': {
    stored: acting('replica', false),
    probe: 'readOnlyFilesystem',
    server: { channel: { ioRunning: 'no', ioError: 'cannot write the relay log' } },
  },
}

it.each([
  ['waits for a replica that may be connecting again', 1_999, ['follow shop-2 1@3']],
  [
    'does not wait for a replica that has not followed for long: the primary would never hear of it',
    2_000,
    ['primary shop-0 counts [shop-1] lets in [] k=1 1@3', 'follow shop-2 1@3'],
  ],
])('A new revision %s', (_, strayedMs, orders) => {
  const situation = aSituation({
    nowMs: 10_000,
    record: { revision: 3, syncSet: [shop1] },
    views,
    strayingSince: new Map([['shop-2', 10_000 - strayedMs]]),
  })
  expect(ordersOf({ actions: assignmentOrders(situation) })).toEqual(orders)
})
