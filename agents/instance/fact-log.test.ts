import { expect, it } from 'vitest'
import { FactLog } from './fact-log.ts'

it('Facts tell no moment by a clock that a person cannot read', () => {
  let nowMs = 2_708_519.3
  const log = new FactLog({ monotonicMs: () => nowMs })
  log.add('ordered', { order: 'promise', atMs: nowMs })
  log.add('marked', { untilMs: nowMs + 30_000, sinceMs: nowMs - 1_200.4 })
  nowMs += 5_000
  expect(log.list).toEqual([
    { agoMs: 5_000, fact: 'ordered', detail: 'order promise' },
    { agoMs: 5_000, fact: 'marked', detail: 'for 30000 ms, since 1200 ms before' },
  ])
})
