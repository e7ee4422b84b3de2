import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasRoomFor, partBytes, partPlan, partsHeld, planText, readPlan, type PartPlan } from './part-plan.ts'

const mebibyte = 1_048_576
const gibibyte = 1_024 * mebibyte

/** What all parts together hold. */
function capacity(plan: PartPlan): number {
  let bytes = 0
  for (let number = 1; hasRoomFor(number); number += 1) bytes += partBytes(plan, number)
  return bytes
}

describe('The parts of an upload', () => {
  it('hold 5 TiB where nothing is known, and begin small', () => {
    const plan = partPlan(undefined)
    expect([1, 1_000, 1_001, 2_001].map((number) => partBytes(plan, number) / mebibyte)).toEqual([8, 8, 16, 32])
    expect(capacity(plan)).toBeGreaterThan(5 * 1_024 * gibibyte)
  })

  it('keep one size that holds what is expected, and hold twice as much, up to S3’s end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 * 1_024 * gibibyte }), (expected) => {
        const plan = partPlan(expected)
        expect(partBytes(plan, 9_000) * 9_000).toBeGreaterThanOrEqual(expected)
        expect(partBytes(plan, 9_000)).toBe(partBytes(plan, 1))
        expect(capacity(plan)).toBeGreaterThanOrEqual(Math.min(2 * expected, 5 * 1_024 * gibibyte))
      }),
      { numRuns: 20 },
    )
  })

  it('fit into 16 MiB of memory up to 140 GiB, and are alone where one is larger', () => {
    for (const expected of [0, gibibyte, 50 * gibibyte, 140 * gibibyte]) {
      const bytes = partBytes(partPlan(expected), 1)
      expect(bytes * partsHeld(bytes)).toBeLessThanOrEqual(16 * mebibyte)
    }
    expect([8, 12, 16, 24, 25, 1_000].map((size) => partsHeld(size * mebibyte))).toEqual([2, 1, 1, 1, 1, 1])
  })

  it('are known again from what is stored with the object', () => {
    for (const expected of [undefined, 0, 900 * gibibyte]) {
      const plan = partPlan(expected)
      expect(readPlan(planText(plan))).toEqual(plan)
    }
    for (const text of [undefined, '', '8', '0-1-1', '8-1', '8-1-1-1', '8-0-0', 'x', '1e9-1-1'])
      expect(readPlan(text)).toBe(undefined)
  })
})
