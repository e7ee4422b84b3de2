import { expect, it } from 'vitest'
import { exponentialRateLimiter } from './rate-limiter.ts'

it('The wait of a key that fails again and again begins at 5 ms, doubles each time, and ends at 1000 s', () => {
  const limiter = exponentialRateLimiter()
  const waits = Array.from({ length: 20 }, () => limiter.nextDelayMs('a'))
  expect(waits.slice(0, 5)).toEqual([5, 10, 20, 40, 80])
  expect(waits.slice(16)).toEqual([327_680, 655_360, 1_000_000, 1_000_000])
})

it('No wait is longer than the cap, however often the key failed', () => {
  const limiter = exponentialRateLimiter({ capMs: 30_000 })
  for (let n = 0; n < 2_000; n++) limiter.nextDelayMs('a')
  expect(limiter.nextDelayMs('a')).toBe(30_000)
})

it('A key that is forgotten starts anew, and the other keys keep their count', () => {
  const limiter = exponentialRateLimiter()
  for (const key of ['a', 'a', 'b', 'b']) limiter.nextDelayMs(key)
  limiter.forget('a')
  expect([limiter.failures('a'), limiter.failures('b')]).toEqual([0, 2])
  expect([limiter.nextDelayMs('a'), limiter.nextDelayMs('b')]).toEqual([5, 20])
})
