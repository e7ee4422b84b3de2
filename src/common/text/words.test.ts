import { expect, it } from 'vitest'
import { duration, lasting } from './words.ts'

it.each([
  [0, '0 ms'],
  [1_300, '1300 ms'],
  [9_999, '9999 ms'],
  [10_000, '10 s'],
  [60_000, '60 s'],
  [120_000, '2 min'],
  [7_140_000, '119 min'],
  [7_200_000, '2 h'],
  [10_000_000, '2 h 47 min'],
])('%d ms are told as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

it('A duration that rounds to nothing is no figure to tell', () => {
  expect(lasting(0.4)).toBe('since just now')
  expect(lasting(20)).toBe('for 20 ms')
})
