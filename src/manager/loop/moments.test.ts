import { expect, it } from 'vitest'
import { momentsFromNow } from './moments.ts'

it('tells the time of deadlines by a clock that no hand sets, and what the calendar says beside it', () => {
  let [monotonicMs, wallMs] = [500, 1_000_000]
  const moments = momentsFromNow({ monotonicMs: () => monotonicMs, wallMs: () => wallMs })
  ;[monotonicMs, wallMs] = [700, 3]
  expect(moments()).toEqual({ nowMs: 700, wallMs: 3, steadyWallMs: 1_000_200, managerSinceMs: 500 })
})
