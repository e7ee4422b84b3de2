import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { ddlVariables, previousGtids, query, uuid } from '#test/support/synthetic-binlog.ts'
import { decodeGtid, decodePayloadHeader, decodePreviousGtids, decodeQuery } from './events.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')
/** A tagged GTID event with this transaction number, as the serialization library writes it. */
const taggedEvent = (number: string): Buffer =>
  bytes(`02 74 00 00 02 02 38 e102 a103 dd03 9503 4d02 22 c503 4502 a204 f103 00 00 00 02 04 ${number} 06 08 74616778`)
const source = '1cb8e8f7 e593 11f1 9151 02fc00000001'

describe('a GTID event', () => {
  it('as MySQL 9.7 wrote it gives source and number', () => {
    const event = bytes(
      `01 ${source} 17000000 00000000 02 0000000000000000 0100000000000000 6f907184c66006 cd 50620100`,
    )
    expect(decodeGtid(event, false)).toEqual({ source: uuid, number: 23 })
  })

  it('with a tag, as MySQL 9.7 wrote it, gives source with tag and number', () => {
    const event = bytes(
      '02 74 00 00 02 02 38 e102 a103 dd03 9503 4d02 22 c503 4502 a204 f103 00 00 00 02 04 04 06 08 74616778 08 04 0a 0c 0c 7f34a37184c66006 1069041283120b7ef4',
    )
    expect(decodeGtid(event, true)).toEqual({ source: `${uuid}:tagx`, number: 1 })
  })

  it('with a tag in a newer serialization is refused', () => {
    expect(() => decodeGtid(bytes('04 7400 0000'), true)).toThrow(
      expect.objectContaining({ code: 'REGENT_BINLOG_UNREADABLE' }),
    )
  })

  it('that ends early is refused', () => {
    expect(() => decodeGtid(bytes(`01 ${source} 1700`), false)).toThrow(
      expect.objectContaining({ code: 'REGENT_BINLOG_UNREADABLE' }),
    )
  })

  it.each([
    ['ffffffffffff1f00', 9007199254740991],
    ['0000000000002000', 9007199254740992n],
    ['feffffffffffff7f', 9223372036854775806n],
  ])('with the large number %s gives that number exactly', (number, exact) => {
    expect(decodeGtid(bytes(`01 ${source} ${number}`), false)).toEqual({ source: uuid, number: exact })
  })

  it('with a tag and the largest number gives that number exactly', () => {
    expect(decodeGtid(taggedEvent('ff fcffffffffffffff'), true)).toEqual({
      source: `${uuid}:tagx`,
      number: 9223372036854775806n,
    })
    expect(decodeGtid(taggedEvent('7f 00000000000040'), true)).toEqual({
      source: `${uuid}:tagx`,
      number: 9007199254740992n,
    })
  })

  it('with a number that no server gives is refused instead of rounded', () => {
    expect(() => decodeGtid(bytes(`01 ${source} 0000000000000080`), false)).toThrow('above 2^63')
  })
})

describe('a Previous_gtids event', () => {
  it('with tags, as MySQL 9.7 wrote it, gives the set', () => {
    const event = bytes(
      `01 02 00000000 0001 ${source} 00 0100000000000000 0100000000000000 2000000000000000 ${source} 08 74616778 0100000000000000 0100000000000000 0200000000000000`,
    )
    expect(GtidSet.parse(decodePreviousGtids(event)).toString()).toBe(`${uuid}:1-31:tagx:1`)
  })

  it('with the largest number of all gives that number exactly', () => {
    const event = bytes(
      `0100000000000000 ${source} 0200000000000000 0100000000000000 0600000000000000 feffffffffffff7f ffffffffffffff7f`,
    )
    expect(GtidSet.parse(decodePreviousGtids(event)).toString()).toBe(`${uuid}:1-5:9223372036854775806`)
  })

  it.each([
    [[], ''],
    [[[1, 1]], `${uuid}:1`],
    [
      [
        [1, 5],
        [7, 9],
      ],
      `${uuid}:1-5:7-9`,
    ],
  ] as const)('without tags of %j gives %s', (intervals, text) => {
    expect(GtidSet.parse(decodePreviousGtids(previousGtids(intervals))).toString()).toBe(text)
  })
})

describe('a Query event', () => {
  const hasXid = (variables: Buffer): boolean => decodeQuery(query('drop table t', variables).body).hasXid

  it('with an Xid among its variables, as MySQL 9.7 wrote them, is atomic DDL', () => {
    expect(hasXid(ddlVariables)).toBe(true)
  })

  it('without one is not', () => {
    expect(hasXid(bytes('0000000000 012000a04500000000 0603737464 04ff00ff00ff00 0c017400 12ff00 1300'))).toBe(false)
  })

  it('with more databases than are listed, a time zone and an invoker is still read to its Xid', () => {
    expect(hasXid(bytes('03 01000100 05 03555443 0b 01 61 02 6262 0d 010203 0cfe 11 0800000000000000'))).toBe(true)
  })

  it('whose variables are not understood up to an Xid does not count as having one', () => {
    expect(hasXid(bytes('7f 110800000000000000'))).toBe(false)
  })

  it('gives the statement, and of a long one its beginning', () => {
    expect(decodeQuery(query('create table t (id int)').body)).toMatchObject({
      text: 'create table t (id int)',
      isWhole: true,
    })
    expect(decodeQuery(query('x'.repeat(5_000)).body)).toMatchObject({ text: 'x'.repeat(4_096), isWhole: false })
  })
})

describe('the header of a compressed transaction', () => {
  it('gives compression and length, past fields that are not known', () => {
    expect(decodePayloadHeader(bytes('02 01 00 03 03 fc8813 09 02 0707 01 01 8c 00'))).toEqual({
      compression: 'zstd',
      length: 16,
      payloadLength: 140,
    })
  })

  it('with a compression that is not known is refused', () => {
    expect(() => decodePayloadHeader(bytes('02 01 07 01 01 8c 00'))).toThrow(
      expect.objectContaining({ code: 'REGENT_BINLOG_UNREADABLE' }),
    )
  })
})
