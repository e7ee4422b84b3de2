import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)

describe('A turn', () => {
  it('takes all where that is not much, and else a part; what is done makes room for the rest', () => {
    const turns = new Turns<number>(3)
    expect(turns.next('a', numbers(3))).toEqual([0, 1, 2])
    turns.over('a', 0)
    let open = numbers(8)
    const seen: number[][] = []
    for (let run = 0; run < 3; run += 1) {
      const turn = turns.next('a', open)
      seen.push([...turn])
      open = open.filter((item) => !turn.includes(item))
      turns.over('a', 0)
    }
    expect(seen).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7],
    ])
  })

  it('reaches everything, also where nothing is ever done', () => {
    const turns = new Turns<number>(3)
    const seen = new Set<number>()
    for (let run = 0; run < 3; run += 1) {
      const turn = turns.next('a', numbers(8))
      expect(turn).toHaveLength(3)
      for (const item of turn) seen.add(item)
      turns.over('a', turn.length)
    }
    expect([...seen].sort()).toEqual(numbers(8))
  })
})
