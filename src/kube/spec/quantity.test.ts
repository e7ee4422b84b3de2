import { describe, expect, it } from 'vitest'
import { quantityOf } from './quantity.ts'

describe('a quantity', () => {
  it.each([
    ['1Gi', 1_073_741_824],
    ['1.5G', 1_500_000_000],
    ['500m', 0.5],
    ['2e3', 2_000],
    ['1E', 1e18],
    ['12', 12],
    ['.5', 0.5],
  ])('%s is %d', (text, number) => {
    expect(quantityOf(text)).toBe(number)
  })

  it.each(['', '-1', '1 Gi', '1gb', 'Gi', '1.2.3', '0x10', 'NaN', 'undefined'])('%o is none', (text) => {
    expect(quantityOf(text)).toBeNaN()
  })
})
