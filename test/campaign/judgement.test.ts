import { describe, expect, it } from 'vitest'
import { diceOf } from './dice.ts'
import { changesOfServer } from './judgement.ts'

const write = (host: string, beganMs: number, ackedMs: number) => ({ id: 0, host, beganMs, ackedMs })

describe('Changes of the server that acknowledges', () => {
  it('are none where one server acknowledges all', () => {
    expect(changesOfServer([])).toBe(0)
    expect(changesOfServer([write('a', 0, 1), write('a', 2, 3)])).toBe(0)
  })

  it('are as many as there were hand-overs', () => {
    expect(changesOfServer([write('a', 0, 1), write('b', 2, 3), write('b', 4, 5), write('a', 6, 7)])).toBe(2)
  })

  it('do not count a write that began before the other server acknowledged', () => {
    expect(changesOfServer([write('a', 0, 9), write('b', 2, 3), write('b', 4, 5)])).toBe(0)
    expect(changesOfServer([write('b', 2, 3), write('a', 0, 9), write('b', 10, 11)])).toBe(0)
  })

  it('are more than one hand-over makes where two servers acknowledge at a time', () => {
    expect(changesOfServer([write('a', 0, 1), write('b', 2, 3), write('a', 4, 5), write('b', 6, 7)])).toBe(3)
  })
})

it('A seed repeats its draws, and its neighbour draws others', () => {
  const draws = (seed: number) => {
    const dice = diceOf(seed)
    return Array.from({ length: 20 }, () => dice.between(1, 100))
  }
  expect(draws(7)).toEqual(draws(7))
  expect(draws(8)).not.toEqual(draws(7))
  expect(Math.min(...draws(0))).toBeGreaterThanOrEqual(1)
  expect(Math.max(...draws(0))).toBeLessThanOrEqual(100)
})
