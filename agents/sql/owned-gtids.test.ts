import { describe, expect, it } from 'vitest'
import { parseGtidSet } from '../../topology/gtid-set.ts'
import { ownedCount, ownedSet } from './owned-gtids.ts'

const a = '3e11fa47-71ca-11e1-9e33-c80aa9429562'
const b = '4e11fa47-71ca-11e1-9e33-c80aa9429562'

describe('owned GTIDs', () => {
  it.each([
    ['', '', 0],
    [`${a}:23#15`, `${a}:23`, 1],
    [`${a}:24#16:23#15`, `${a}:23-24`, 2],
    [`${a}:23#15,\n${b}:7#9:9#11`, `${a}:23,${b}:7:9`, 3],
    [`${a}:backup:4#21`, `${a}:backup:4`, 1],
  ])('printed as %j are the set %j', (printed, set, count) => {
    expect(parseGtidSet(ownedSet(printed)).toString()).toBe(set)
    expect(ownedCount(printed)).toBe(count)
  })
})
