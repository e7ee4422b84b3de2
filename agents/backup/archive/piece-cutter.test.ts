import { describe, expect, it } from 'vitest'
import type { BinlogTransaction } from '#agents/ports/volume.ts'
import { PieceCutter, type Cutting } from './piece-cutter.ts'

const a = 'aaaaaaaa-1111-2222-3333-444444444444'
const b = 'bbbbbbbb-1111-2222-3333-444444444444'

/** One after the other, each of `bytes`. */
function row(...list: readonly (readonly [source: string, number: number, bytes?: number])[]): BinlogTransaction[] {
  let at = 200
  return list.map(([source, number, bytes = 100]) => {
    const offset = at
    at += bytes
    return { source, number, committedMs: 1_000 + number, offset, end: at }
  })
}

function cut(transactions: readonly BinlogTransaction[], given: Partial<Cutting> = {}) {
  const cutting = { epoch: 3, sender: 'shop-0@abc' as const, file: 'binlog.000007', ...given }
  const cutter = new PieceCutter(
    { isExecuted: () => true, isShipped: () => false, ...cutting },
    { offset: 200, preceding: 40 },
  )
  const shown = transactions.findIndex((transaction) => !cutter.add(transaction))
  const { pieces, place } = cutter.finish()
  const named = pieces.map(({ piece, end }) => [piece.source, piece.from, piece.to, piece.preceding, piece.offset, end])
  return { named, place, shown, pieces }
}

describe('a binlog is cut into pieces', () => {
  it('of transactions of one source that follow each other', () => {
    const { named, place, pieces } = cut(row([a, 1], [a, 2], [b, 7], [a, 3], [a, 5], [a, 6]))
    expect(named).toEqual([
      [a, 1, 2, 40, 200, 400],
      [b, 7, 7, 42, 400, 500],
      [a, 3, 3, 43, 500, 600],
      [a, 5, 6, 44, 600, 800],
    ])
    expect(place).toEqual({ offset: 800, preceding: 46 })
    expect(pieces[0]?.piece).toMatchObject({ firstMs: 1_001, lastMs: 1_002, epoch: 3, file: 'binlog.000007' })
  })

  it('that end before what is not executed, which is shown again', () => {
    const { named, place, shown } = cut(row([a, 1], [a, 2], [a, 3]), { isExecuted: ({ number }) => number !== 2 })
    expect(named).toEqual([[a, 1, 1, 40, 200, 300]])
    expect(place).toEqual({ offset: 300, preceding: 41 })
    expect(shown).toBe(1)
  })

  it('that leave out what was shipped, and count that', () => {
    const { named } = cut(row([a, 1], [a, 2], [a, 3], [a, 4]), { isShipped: ({ number }) => number === 2 })
    expect(named).toEqual([
      [a, 1, 1, 40, 200, 300],
      [a, 3, 4, 42, 400, 600],
    ])
  })

  it('of which only a single transaction is longer than 16 MiB', () => {
    const mebibyte = 1_048_576
    const { named } = cut(row([a, 1, 10 * mebibyte], [a, 2, 10 * mebibyte], [a, 3, 40 * mebibyte], [a, 4]))
    expect(named.map(([, from, to]) => [from, to])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ])
  })

  it('not more than 64 at a time', () => {
    const { named, shown } = cut(row(...Array.from({ length: 100 }, (_, at) => [a, 2 * at + 1] as const)))
    expect(named.length).toBe(65)
    expect(shown).toBe(65)
  })
})
