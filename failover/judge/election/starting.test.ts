import { expect, it } from 'vitest'
import { decide } from '#failover/decide.ts'
import { aSituation } from '#failover/testing.ts'

const lost = { reachable: false, server: { channel: { ioRunning: 'connecting' } } } as const
/** It hears the primary no longer. */
const deaf = { server: { channel: { ioRunning: 'connecting' } } } as const

it.each([
  [false, /bring back shop-0, shop-1, or give up what they hold: regent failover --accept-loss$/],
  [true, /bring back shop-0, shop-1: shop-1 is being started by Kubernetes at this moment$/],
])('What is missing is given up by a person only once nobody is on the way: %s', (isStarting, says) => {
  const missing = { ...lost, ...(isStarting && { starting: true as const }) }
  const views = { 'shop-0': { reachable: false }, 'shop-1': missing, 'shop-2': deaf }
  expect(decide(aSituation({ views, nowMs: 5_000 })).sentence).toMatch(says)
})
