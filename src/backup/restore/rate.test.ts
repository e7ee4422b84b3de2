import { describe, expect, it } from 'vitest'
import { rateAndRest, restOf } from './rate.ts'

const gigabyte = 1_000_000_000

describe('Of what is read', () => {
  it.each([
    [gigabyte, 10 * gigabyte, 10_000, ', 100 MB/s; about 90 s are left'],
    [gigabyte, 100 * gigabyte, 25_000, ', 40 MB/s; about 41 min are left'],
    [4_560_000, 5_000_000, 3_000, ', 1.5 MB/s; a few seconds are left'],
    // More came than was promised, as far as the rounding of a manifest goes.
    [11 * gigabyte, 10 * gigabyte, 10_000, ', 1100 MB/s; a few seconds are left'],
  ])('%d of %d bytes in %d ms are%s', (done, all, ms, said) => {
    expect(String(rateAndRest({ done, all, ms }))).toBe(said)
  })

  it('nothing is told of the first seconds, and of nothing', () => {
    expect(rateAndRest({ done: gigabyte, all: 2 * gigabyte, ms: 2_999 })).toBe('')
    expect(rateAndRest({ done: 0, all: 2 * gigabyte, ms: 60_000 })).toBe('')
    expect(restOf({ done: 0, all: 5, ms: 60_000 })).toBe('')
  })
})
