import { describe, expect, it } from 'vitest'
import { aGroupState } from '../testing-group.ts'
import { hostOf } from '../testing.ts'
import { soleWriter, writersOf } from './writers.ts'

const several = aGroupState('shop-0', { writers: ['shop-2', 'shop-1'] })
const nobody = () => false

describe('A group with several writers', () => {
  it('names them, and not those that are away', () => {
    expect(writersOf(several).map(({ host }) => host)).toEqual([hostOf('shop-1'), hostOf('shop-2')])
    const away = aGroupState('shop-0', { writers: ['shop-2', 'shop-1'], members: { 'shop-1': 'UNREACHABLE' } })
    expect(writersOf(away)).toEqual([])
  })

  it('goes on with the one that is primary already', () => {
    expect(soleWriter(writersOf(several), ({ host }) => host === hostOf('shop-2'))?.host).toBe(hostOf('shop-2'))
  })

  it('goes on with the lowest server uuid where that one does not write, whoever asks', () => {
    expect(soleWriter(writersOf(several), nobody)?.host).toBe(hostOf('shop-1'))
    expect(soleWriter(writersOf(several).toReversed(), nobody)?.host).toBe(hostOf('shop-1'))
  })

  it('goes on with a lower version first: a higher one must not lead', () => {
    const mixed = aGroupState('shop-0', { writers: ['shop-1', 'shop-2'], versions: { 'shop-2': '8.4.6' } })
    expect(soleWriter(writersOf(mixed), nobody)?.host).toBe(hostOf('shop-2'))
  })

  it('is no such group without one', () => {
    expect(soleWriter([], nobody)).toBeUndefined()
  })
})
