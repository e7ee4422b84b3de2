import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GtidSet, parseGtidSet } from './gtid-set.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const a = 'aaaaaaaa-1111-2222-3333-444444444444'
const b = 'bbbbbbbb-1111-2222-3333-444444444444'
const parse = (text: string) => GtidSet.parse(text)

describe('reading and printing', () => {
  test.each([
    ['', ''],
    ['  \n ', ''],
    [`${a}:1`, `${a}:1`],
    [`${a}:1-5:7`, `${a}:1-5:7`],
    [`${b}:1,\n${a}:2-3`, `${a}:2-3,${b}:1`],
    [` ${a.toUpperCase()} : 1 - 5 : 7 , ${b} : 1 `, `${a}:1-5:7,${b}:1`],
    [`${a}:1-3:4-5`, `${a}:1-5`],
    [`${a}:9:1-3:2-6,${a}:7`, `${a}:1-7:9`],
    [`${a}:tag:1-5:tag2:7`, `${a}:tag:1-5:tag2:7`],
    [`${a}:1-3:tag:1`, `${a}:1-3:tag:1`],
    [`${a}:Tag:2,${a}:1-3,${a}:tag:1`, `${a}:1-3:tag:1-2`],
    [`${a}:_x:1,${a}:5`, `${a}:5:_x:1`],
    [`${a}:z:1:b:2:b:3`, `${a}:b:2-3:z:1`],
    [`${a}:9007199254740991`, `${a}:9007199254740991`],
    [
      `${a}:9007199254740992:9007199254740991:9007199254740994`,
      `${a}:9007199254740991-9007199254740992:9007199254740994`,
    ],
    [`${a}:5:9223372036854775806`, `${a}:5:9223372036854775806`],
    [
      `${a}:app:9223372036854775805-9223372036854775806:00009223372036854775804`,
      `${a}:app:9223372036854775804-9223372036854775806`,
    ],
  ])('%j is printed as %j', (text, printed) => {
    expect(parse(text).toString()).toBe(printed)
  })

  test.each([
    ['x', 'at "x" (character 1 of 1) a UUID is expected'],
    [a, 'at its end (character 37 of 36) a ":" and an interval are expected after the UUID'],
    [`${a}:`, 'at its end (character 38 of 37) a transaction number is expected'],
    [`${a}:1-`, 'at its end (character 40 of 39) a transaction number is expected'],
    [`${a}:0`, 'at "0" (character 38 of 38) transaction numbers begin at 1'],
    [`${a}:7-5`, 'at "7-5" (character 38 of 40) the interval ends before it begins'],
    [`${a}:1,`, 'at its end (character 40 of 39) a UUID is expected'],
    [`${a}:1,,${b}:1`, 'at "," (character 40 of 78) a UUID is expected'],
    [`${a}:1 2`, 'at "2" (character 40 of 40) a "," or ":" or the end is expected'],
    [`${a}:1;2`, 'at ";2" (character 39 of 40) a "," or ":" or the end is expected'],
    [`${a}:tag`, 'at its end (character 41 of 40) a ":" and an interval are expected after the tag tag'],
    [`${a}:tag:tag2:1`, 'at "tag2" (character 42 of 47) a transaction number is expected'],
    [`${a}:-1`, 'at "-1" (character 38 of 39) a transaction number is expected'],
    [
      `${a}:9223372036854775807`,
      'at "9223372036854775807" (character 38 of 56) transaction numbers end at 9223372036854775806',
    ],
    [`${a}:1-18446744073709551617`, 'at "18446744073709551617" (character 40 of 59) transaction numbers end at'],
    [`${a}:${'9'.repeat(400)}`, 'transaction numbers end at'],
  ])('%j is refused, naming the piece and where it is', (text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'REGENT_BAD_GTID_SET', message: expect.stringContaining(message) as string }),
    )
  })

  test('a tag of more than 32 characters is refused', () => {
    expect(parse(`${a}:${'t'.repeat(32)}:1`).count()).toBe(1)
    expect(() => parse(`${a}:${'t'.repeat(33)}:1`)).toThrow('":" and an interval are expected after the tag')
  })

  test('a single transaction is written with its tag where it has one', () => {
    expect(GtidSet.single(a.toUpperCase(), 5).toString()).toBe(`${a}:5`)
    expect(GtidSet.single(a, 5, 'app').toString()).toBe(`${a}:app:5`)
    expect(() => GtidSet.single(a, 1.5)).toThrow('at ".5" (character 39 of 40)')
  })

  test('the last number is known per UUID and tag', () => {
    const set = parse(`${a}:1-3:9:app:4`)
    expect([set.last(a), set.last(a.toUpperCase()), set.last(`${a}:app`), set.last(b)]).toEqual([9, 9, 4, 0])
  })

  test('of two that have nearly all numbers the larger one is known', () => {
    const [all, butOne] = [parse(`${a}:1-9223372036854775806`), parse(`${a}:1-9223372036854775806,${b}:1`)]
    expect([butOne.isLargerThan(all), all.isLargerThan(butOne), all.isLargerThan(all)]).toEqual([true, false, false])
    expect(butOne.subtract(all).toString()).toBe(`${b}:1`)
  })

  test('what one server issued can be left out, tagged or not', () => {
    const set = parse(`${a}:1-3:app:4,${b}:1-2`)
    expect(set.withoutSource(a.toUpperCase()).toString()).toBe(`${b}:1-2`)
    expect(set.withoutSource(b).toString()).toBe(`${a}:1-3:app:4`)
  })

  test('texts that arrive again are not parsed again, and are still right after many others', () => {
    const first = parseGtidSet(`${a}:1-5`)
    expect(parseGtidSet(`${a}:1-5`)).toBe(first)
    const others = range(1, 20_000).map((number) => parseGtidSet(`${b}:${number}`))
    expect(parseGtidSet(`${b}:20000`)).toBe(others.at(-1))
    expect(parseGtidSet(`${b}:19000`)).toBe(others[18_999])
    expect(parseGtidSet(`${a}:1-5`)).not.toBe(first)
    expect(parseGtidSet(`${a}:1-5`).equals(first)).toBe(true)
  })
})

/** A set of GTIDs the slow, obvious way. */
type Naive = ReadonlySet<string>

const sources = [a, `${a}:app`, `${a}:_z`, b] as const
/** Where numbers begin, where they stop to be exact as such, and where MySQL ends. */
const number = fc
  .tuple(fc.constantFrom(1n, 2n ** 53n - 8n, 2n ** 63n - 17n), fc.bigInt({ min: 0n, max: 15n }))
  .map(([from, more]) => from + more)
const gtid = fc.tuple(fc.constantFrom(...sources), number).map(([source, number]) => `${source}:${number}`)
/** Dense, so that intervals form, touch and span each other's gaps. */
const naive = fc.uniqueArray(gtid, { maxLength: 60, size: 'max' }).map((gtids): Naive => new Set(gtids))
const setOf = (gtids: Naive) => GtidSet.parse([...gtids].join(','))
const missingFrom = (gtids: Naive, others: Naive) => [...others].filter((each) => !gtids.has(each))
const same = (set: GtidSet, gtids: Iterable<string>) => {
  expect(set.toString()).toBe(setOf(new Set(gtids)).toString())
}

describe('against a naive model', () => {
  test('union, difference and intersection are those of sets', () => {
    fc.assert(
      fc.property(naive, naive, (left, right) => {
        same(setOf(left).union(setOf(right)), [...left, ...right])
        same(setOf(left).subtract(setOf(right)), missingFrom(right, left))
        same(
          setOf(left).intersect(setOf(right)),
          [...left].filter((each) => right.has(each)),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('containment, equality, emptiness and count are those of sets', () => {
    fc.assert(
      fc.property(naive, naive, (left, right) => {
        const [rightOnly, leftOnly] = [missingFrom(left, right), missingFrom(right, left)]
        expect(setOf(left).contains(setOf(right))).toBe(rightOnly.length === 0)
        expect(setOf(new Set([...left, ...right])).contains(setOf(right))).toBe(true)
        expect(setOf(left).equals(setOf(right))).toBe(rightOnly.length + leftOnly.length === 0)
        expect(setOf(left).isEmpty()).toBe(left.size === 0)
        expect(setOf(left).count()).toBe(left.size)
        expect(setOf(left).isLargerThan(setOf(right))).toBe(left.size > right.size)
      }),
      { numRuns: 500 },
    )
  })

  test('what is printed holds exactly the members, and reads back as the same set', () => {
    fc.assert(
      fc.property(naive, (gtids) => {
        const set = GtidSet.parse([...gtids].join(' ,\n'))
        expect(membersOf(set.toString())).toEqual([...gtids].sort())
        expect(GtidSet.parse(set.toString()).equals(set)).toBe(true)
      }),
    )
  })

  test('operations leave their operands as they were', () => {
    fc.assert(
      fc.property(naive, naive, (left, right) => {
        const [one, other] = [setOf(left), setOf(right)]
        one.union(other)
        one.subtract(other)
        one.intersect(other)
        same(one, left)
        same(other, right)
      }),
    )
  })
})

/** Every GTID of a printed set, read in a way of its own. */
function membersOf(text: string): string[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [uuid = '', ...pieces] = part.split(':')
      let source = uuid
      return pieces.flatMap((piece) => {
        if (!/^\d/.test(piece)) source = `${uuid}:${piece}`
        if (!/^\d/.test(piece)) return []
        const [from = 0n, to = from] = piece.split('-').map(BigInt)
        return range(0, Number(to - from)).map((more) => `${source}:${from + BigInt(more)}`)
      })
    })
    .sort()
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

test('sets of 100,000 intervals are read, joined, subtracted and printed in linear time', () => {
  const every = (step: number, offset: number) =>
    `${a}:${range(0, 99_999)
      .map((index) => index * step + offset)
      .join(':')}`
  const started = performance.now()
  const left = parse(every(4, 1))
  const right = parse(every(4, 3))
  const union = left.union(right)
  const rest = union.subtract(left)
  const printed = union.toString()
  const tookMs = performance.now() - started

  expect(union.count()).toBe(200_000)
  expect(rest.equals(right)).toBe(true)
  expect(union.contains(left)).toBe(true)
  expect(left.intersect(right).isEmpty()).toBe(true)
  expect(parse(printed).equals(union)).toBe(true)
  // About 50 ms; anything that is not linear takes minutes.
  expectBelow(2_000, tookMs)
})
