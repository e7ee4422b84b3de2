import { expect, test } from 'vitest'
import { lasting, say } from '../sentence/sentence.ts'
import { Repeats, seldom } from './repeats.ts'

test('What repeats is told once, then once a minute with how often it was left out', () => {
  let nowMs = 0
  const repeats = new Repeats({ monotonicMs: () => nowMs, wallMs: () => nowMs })
  expect(repeats.toTell('commit: REGENT_TIMED_OUT')).toBe(0)
  for (let times = 0; times < 8; times += 1) expect(repeats.toTell('commit: REGENT_TIMED_OUT')).toBeNull()
  expect(repeats.toTell('deciding: REGENT_INTERNAL')).toBe(0)
  expect(
    ['promise of shop-1: late', 'promise of shop-2: late', 'promise of shop-1: late'].map((what) =>
      repeats.toTell(what),
    ),
  ).toEqual([0, 0, null])
  nowMs = 60_000
  expect(repeats.toTell('commit: REGENT_TIMED_OUT')).toBe(8)
  expect(repeats.toTell('commit: REGENT_TIMED_OUT')).toBeNull()
})

test('A sentence is told seldom where it differs in figures alone: what was left out is counted', () => {
  let nowMs = 0
  const log: string[] = []
  const tell = seldom({ monotonicMs: () => nowMs, wallMs: () => nowMs }, (line) => log.push(line))
  for (nowMs = 0; nowMs <= 60_000; nowMs += 500) tell(say`the store of ${'shop'} did not answer ${lasting(nowMs)}`)
  expect(log).toEqual([
    'the store of shop did not answer since just now',
    'the store of shop did not answer for 60 s (119 times more since this was last said)',
  ])
})

test('Only so many different things are remembered: the oldest is told again', () => {
  const repeats = new Repeats({ monotonicMs: () => 0, wallMs: () => 0 })
  const words = Array.from({ length: 201 }, (_, at) => 'x'.repeat(at + 1))
  for (const word of words) expect(repeats.toTell(word)).toBe(0)
  expect(repeats.toTell('x')).toBe(0)
  expect(repeats.toTell('x'.repeat(201))).toBeNull()
})
