import { expect, it } from 'vitest'
import { steadyWall } from './steady-wall.ts'

it('goes on from the calendar by the monotonic clock, whoever sets the wall clock meanwhile', () => {
  let [monotonicMs, wallMs] = [500.25, 1_000_000]
  const now = steadyWall({ monotonicMs: () => monotonicMs, wallMs: () => wallMs })
  expect(now()).toBe(1_000_000)
  ;[monotonicMs, wallMs] = [1_500.25, 10]
  expect(now()).toBe(1_001_000)
  wallMs = 1e12
  expect(now()).toBe(1_001_000)
})
