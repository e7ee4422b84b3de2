import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { previousGtids, uuid } from '#test/support/synthetic-binlog.ts'
import { decodePreviousGtids } from './events.ts'
import { headerBytes } from './layout.ts'
import { previousGtidsEvent } from './previous-gtids.ts'

const other = '2cb8e8f7-e593-11f1-9151-02fc00000002'
const bodyOf = (text: string): Buffer =>
  previousGtidsEvent(GtidSet.parse(text), { serverId: 1, checksums: true }).subarray(headerBytes, -4)

describe('A Previous_gtids event', () => {
  it.each([
    '',
    `${uuid}:1`,
    `${uuid}:1-3:5:9-12,${other}:7`,
    `${uuid}:1-3:backup:1-2:4,${other}:z:7`,
    `${uuid}:9223372036854775806`,
  ])('of %s is read as that', (text) => {
    expect(GtidSet.parse(decodePreviousGtids(bodyOf(text))).toString()).toBe(text)
  })

  it('without tags is as a server writes it that knows none', () => {
    expect(bodyOf(`${uuid}:1-3:5`)).toEqual(
      previousGtids([
        [1, 3],
        [5, 5],
      ]),
    )
  })
})
