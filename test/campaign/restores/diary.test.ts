import { describe, expect, it } from 'vitest'
import { beforeEntry, isAcked, judged, newest, untilEntry, untilSecond, type Entry } from './diary.ts'

const entry = (id: number, given: Partial<Entry> = {}): Entry => ({
  kind: 'row',
  id,
  beganMs: id * 1_000,
  ackedMs: id * 1_000 + 500,
  gtid: `u:${id}`,
  left: `row ${id}`,
  ...given,
})
const rows = (...ids: readonly number[]) => new Map([['row', new Map(ids.map((id) => [id, `row ${id}`]))]])
const acked = (found: Entry) => {
  if (!isAcked(found)) throw new Error('not acknowledged')
  return found
}

describe('A restored cluster, beside the diary of clients', () => {
  const diary = [entry(1), entry(2), entry(3)]

  it('has what was acknowledged before the moment, and nothing that began after', () => {
    expect(judged(diary, rows(1, 2, 3), newest)).toEqual([])
    expect(judged(diary, rows(1, 3), newest)).toEqual(['row 2 is not there'])
    expect(judged(diary, rows(1), untilSecond(2))).toEqual([])
    expect(judged(diary, rows(1, 2), untilSecond(2))).toEqual([])
    expect(judged(diary, rows(), untilSecond(2))).toEqual(['row 1 is not there'])
    expect(judged([...diary, entry(4)], rows(1, 2, 3, 4), untilSecond(2))).toEqual(['row 4 is there'])
  })

  it('has the transaction that was named, or lacks the one that was named', () => {
    expect(judged(diary, rows(1, 2), untilEntry(acked(entry(2))))).toEqual([])
    const [, second] = diary
    expect(judged(diary, rows(1), untilEntry(acked(second!)))).toEqual(['row 2 is not there'])
    expect(judged(diary, rows(1), beforeEntry(acked(second!)))).toEqual([])
    expect(judged(diary, rows(1, 2), beforeEntry(acked(second!)))).toEqual(['row 2 is there'])
  })

  it('has each transaction whole or not at all, and none that nobody wrote', () => {
    const torn = new Map([['row', new Map([[1, 'half of row 1']])]])
    expect(judged([entry(1)], torn, newest)).toEqual(['row 1 is not whole: half of row 1, not row 1'])
    expect(judged([entry(1, { left: null })], torn, newest)).toEqual([])
    expect(judged([], rows(9), newest)).toEqual(['row 9 was never written'])
  })

  it('may have what nobody knows the end of', () => {
    const unknown = [entry(1, { ackedMs: null, gtid: null })]
    expect(judged(unknown, rows(1), newest)).toEqual([])
    expect(judged(unknown, rows(), newest)).toEqual([])
  })
})
