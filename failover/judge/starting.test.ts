import { expect, it } from 'vitest'
import { decide } from '../decide.ts'
import { aSituation } from '../testing.ts'

const lost = { reachable: false, heardAtMs: 100 }

it.each([
  [false, /bring back shop-0, shop-1 or, giving up what only they may hold, use: regent failover --accept-loss$/],
  [true, /bring back shop-0, shop-1: shop-1 is being started by Kubernetes at this moment$/],
])('What is missing is given up by a person only once nobody is on the way: %s', (isStarting, says) => {
  const views = { 'shop-0': lost, 'shop-1': { ...lost, ...(isStarting && { starting: true as const }) } }
  expect(decide(aSituation({ views, nowMs: 60_000 })).sentence).toMatch(says)
})
