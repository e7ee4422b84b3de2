import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyOf, parseKey, prefixOf, type BackupKey } from './object-key.ts'
import { gtidsOf, inBinlogOrder, type Piece } from './piece-name.ts'
import { aPiece, sourceA } from './testing.ts'

const name = '20261126T031209Z'
const cases: readonly (readonly [BackupKey, string])[] = [
  [{ kind: 'owner', cluster: 'shop' }, 'shop/owner.json'],
  [{ kind: 'owner', cluster: 'prod.shop' }, 'prod.shop/owner.json'],
  [{ kind: 'manifest', cluster: 'shop', name }, `shop/base/${name}/manifest.json`],
  [{ kind: 'part', cluster: 'shop', name, part: 12 }, `shop/base/${name}/part-000012`],
  [{ kind: 'verified', cluster: 'shop', name: `${name}-02` }, `shop/base/${name}-02/verified.json`],
  [{ kind: 'opening', cluster: 'shop', epoch: 7 }, 'shop/binlog/0000000007/opening.json'],
  [
    { kind: 'piece', cluster: 'shop', piece: aPiece({ epoch: 7, source: `${sourceA}:app`, from: 5, to: 2n ** 62n }) },
    `shop/binlog/0000000007/1795000000000-1795000004000-${sourceA}.app-5-4611686018427387904-0-shop-0.0a1b2c3d4e5f-binlog.000001-0000000000157`,
  ],
]

describe('the key of an object', () => {
  it.each(cases)('%# is read as it was made', (key, text) => {
    expect(keyOf(key)).toBe(text)
    expect(parseKey(text)).toEqual(key)
    expect(text.startsWith(prefixOf.cluster(key.cluster))).toBe(true)
  })

  const somePiece = cases.at(-1)?.[1] ?? ''
  it.each([
    '',
    'shop',
    'shop/other.json',
    '/shop/owner.json',
    'Shop/owner.json',
    'shop/owner.json/x',
    'shop/base/20261126T031209Z/readme.txt',
    'shop/base/20260631T031209Z/manifest.json',
    'shop/base/20261126T031209Z-01/manifest.json',
    'shop/base/20261126T031209Z/part-000000',
    'shop/base/20261126T031209Z/part-1',
    'shop/binlog/7/opening.json',
    somePiece.replace('-5-', '-05-'),
    somePiece.replace('-5-', '-0-'),
    somePiece.replace('.app-5-', '-4611686018427387905-'),
    // The last number that MySQL gives is the one before this.
    somePiece.replace('-4611686018427387904-', '-9223372036854775807-'),
    somePiece.replace('1795000004000', '1794000004000'),
    somePiece.replace(sourceA, sourceA.toUpperCase()),
    `${somePiece}0`,
    `${somePiece}.tmp`,
    `shop/binlog/0000000007/${'x'.repeat(1_100)}`,
  ])('of somebody else is none of ours: %j', (text) => {
    expect(parseKey(text)).toBeNull()
  })

  it.each<BackupKey>([
    { kind: 'owner', cluster: '../shop' },
    { kind: 'manifest', cluster: 'shop', name: 'newest' },
    { kind: 'part', cluster: 'shop', name, part: 1_000_000 },
    { kind: 'piece', cluster: 'shop', piece: aPiece({ from: 6, to: 5 }) },
    { kind: 'piece', cluster: 'shop', piece: aPiece({ file: 'a/b' }) },
    { kind: 'piece', cluster: 'shop', piece: aPiece({ sender: 'shop-0@a-b' }) },
  ])('is not made of what it could not be read back to: %j', (key) => {
    expect(() => keyOf(key)).toThrow('cannot be the key of an object of backups')
  })

  const number = fc.oneof(fc.integer({ min: 1, max: 1e9 }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 2n }))
  const ms = fc.integer({ min: 0, max: 9_999_999_999_999 })
  const piece: fc.Arbitrary<Piece> = fc
    .record({
      epoch: fc.integer({ min: 0, max: 9_999_999_999 }),
      times: fc.tuple(ms, ms),
      source: fc.tuple(fc.uuid(), fc.constantFrom('', ':a', ':_z9', `:${'t'.repeat(32)}`)).map((both) => both.join('')),
      numbers: fc.tuple(number, number),
      preceding: fc.maxSafeNat(),
      sender: fc.constantFrom('shop-0@0a1b', 'my-shop-2-15@ffff00', 'a-1@1'),
      file: fc.constantFrom('binlog.000001', 'mysql-bin-3.1234567', '-1-2.3-4', 'x'),
      offset: fc.integer({ min: 0, max: 1e12 }),
    })
    .map(({ times, numbers, ...rest }) => {
      const [firstMs, lastMs] = times[0] < times[1] ? times : [times[1], times[0]]
      const [from, to] = numbers[0] < numbers[1] ? numbers : [numbers[1], numbers[0]]
      return { ...rest, firstMs, lastMs, from, to }
    })

  it('of any piece is read as it was made, and is short enough for S3', () => {
    fc.assert(
      fc.property(piece, (given) => {
        const text = keyOf({ kind: 'piece', cluster: 'shop', piece: given })
        expect(parseKey(text)).toEqual({ kind: 'piece', cluster: 'shop', piece: given })
        expect(text).toMatch(/^[A-Za-z0-9._/-]+$/)
        expect(text.length).toBeLessThan(600)
      }),
    )
  })

  it('of any text is read without a failure', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom('', 'shop/', 'shop/base/', 'shop/binlog/0000000001/'),
        (text, before) => {
          const key = parseKey(before + text)
          expect(key === null || keyOf(key) === before + text).toBe(true)
        },
      ),
    )
  })

  it('of pieces that were committed one after the other are in that order', () => {
    const keys = [1, 2, 10, 900].map((seconds) =>
      keyOf({
        kind: 'piece',
        cluster: 'shop',
        piece: aPiece({ epoch: 3, firstMs: 1_795_000_000_000 + seconds * 1_000, lastMs: 1_795_001_000_000 }),
      }),
    )
    expect(keys.toSorted()).toEqual(keys)
  })
})

describe('pieces', () => {
  it('of one sender are sorted as its binlog has them, past the millionth file', () => {
    const at = (file: string, offset: number) => aPiece({ file, offset })
    const sorted = [
      at('binlog.000009', 900),
      at('binlog.000010', 157),
      at('binlog.000010', 2_000),
      at('binlog.999999', 157),
      at('binlog.1000000', 157),
    ]
    expect(sorted.toReversed().sort(inBinlogOrder)).toEqual(sorted)
  })

  it('name their transactions', () => {
    expect(gtidsOf(aPiece({ source: `${sourceA}:app`, from: 3, to: 9 })).toString()).toBe(`${sourceA}:app:3-9`)
  })
})
