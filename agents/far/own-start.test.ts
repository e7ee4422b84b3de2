import { describe, expect, it } from 'vitest'
import { OwnStart } from './own-start.ts'

describe('Sessions of a far agent', () => {
  it('are of nobody before its agent took a mysqld', () => {
    expect(new OwnStart().allows(100)).toBe(false)
  })

  it('are of the start that answered first since then', () => {
    const own = new OwnStart()
    own.is('7 100')
    expect([own.allows(100), own.allows(100), own.allows(103)]).toEqual([true, true, false])
  })

  it('are of no other start before the agent has seen the end of the one before', () => {
    const own = new OwnStart()
    own.is('7 100')
    own.allows(100)
    own.is('7 100')
    expect(own.allows(103)).toBe(false)
  })

  it('are of the start that is known, whoever answers first', () => {
    const own = new OwnStart()
    own.is('7', 100)
    expect([own.allows(103), own.allows(100)]).toEqual([false, true])
  })

  it('are of nobody from its end until the agent takes the next one', () => {
    const own = new OwnStart()
    own.is('7 100')
    own.allows(100)
    own.isOver()
    expect(own.allows(103)).toBe(false)
    own.is('8 200')
    expect(own.allows(103)).toBe(true)
  })

  it('are of nobody once that agent has ended, whatever it still takes', () => {
    const own = new OwnStart()
    own.is('7 100')
    own.end()
    own.is('8 200')
    expect(own.allows(100)).toBe(false)
  })
})
