import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gtidNumber } from '#topology/gtid/gtid-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { GtidCollector, GtidMatcher, printGtid } from './gtid-collector.ts'

const sources = [
  '1cb8e8f7-e593-11f1-9151-02fc00000001',
  '1cb8e8f7-e593-11f1-9151-02fc00000001:tag',
  '2cb8e8f7-e593-11f1-9151-02fc00000001',
]
/** Some of them around where they stop to be exact as plain numbers. */
const number = fc
  .tuple(fc.constantFrom(1n, 2n ** 53n - 15n, 2n ** 63n - 32n), fc.bigInt({ min: 0n, max: 30n }))
  .map(([from, more]) => gtidNumber(from + more))
const gtids = fc.array(fc.record({ source: fc.constantFrom(...sources), number }))

describe('transactions gathered one by one', () => {
  it('are the set of them, and each of them and no other is found in it', () => {
    fc.assert(
      fc.property(gtids, gtids, (inside, asked) => {
        const collector = new GtidCollector()
        for (const gtid of inside) collector.add(gtid)
        const set = collector.set()
        const matcher = new GtidMatcher(set)
        expect(set.equals(GtidSet.parse(inside.map(printGtid).join(',')))).toBe(true)
        for (const gtid of [...inside, ...asked])
          expect(matcher.has(gtid)).toBe(set.contains(GtidSet.parse(printGtid(gtid))))
      }),
    )
  })
})
