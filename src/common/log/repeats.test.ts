import { expect, test } from 'vitest'
import { Repeats, seldom } from './repeats.ts'

test('What repeats is told once, then once a minute with how often it was left out; figures make it no other thing', () => {
  let nowMs = 0
  const repeats = new Repeats({ monotonicMs: () => nowMs, wallMs: () => nowMs })
  expect(repeats.toTell('commit failed: no answer within 2000 ms')).toBe(0)
  for (let times = 0; times < 8; times += 1)
    expect(repeats.toTell(`commit failed: no answer within ${times} ms`)).toBeNull()
  expect(repeats.toTell('deciding failed: x is not a function')).toBe(0)
  expect(
    ['promise of shop-1: late', 'promise of shop-2: late', 'promise of shop-1: late'].map((what) =>
      repeats.toTell(what),
    ),
  ).toEqual([0, 0, null])
  nowMs = 60_000
  expect(repeats.toTell('commit failed: no answer within 1 ms')).toBe(8)
  expect(repeats.toTell('commit failed: no answer within 1 ms')).toBeNull()
})

test('A sentence that fails again and again is told seldom: what was left out is counted', () => {
  let nowMs = 0
  const log: string[] = []
  const tell = seldom({ monotonicMs: () => nowMs, wallMs: () => nowMs }, (sentence) => log.push(sentence))
  for (nowMs = 0; nowMs <= 60_000; nowMs += 500) tell(`leadership: the store did not answer within ${nowMs} ms`)
  expect(log).toEqual([
    'leadership: the store did not answer within 0 ms',
    'leadership: the store did not answer within 60000 ms (119 times more since this was last said)',
  ])
})

test('Only so many different things are remembered: the oldest is told again', () => {
  const repeats = new Repeats({ monotonicMs: () => 0, wallMs: () => 0 })
  const words = Array.from({ length: 201 }, (_, at) => 'x'.repeat(at + 1))
  for (const word of words) expect(repeats.toTell(word)).toBe(0)
  expect(repeats.toTell('x')).toBe(0)
  expect(repeats.toTell('x'.repeat(201))).toBeNull()
})
