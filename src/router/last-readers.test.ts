import { expect, it } from 'vitest'
import { LastReaders } from './last-readers.ts'
import type { KnownInstance, ReadState } from './where-to.ts'

const primary: KnownInstance = { name: 'shop-0', host: '10.0.0.0', port: 3306, word: null, isGone: false }

function reads(state: ReadState) {
  const weight = 100
  return [
    { name: 'shop-0', state: 'kept', weight },
    { name: 'shop-1', state, weight },
  ] as const
}

it('Nothing is known before the first primary, and nothing is learnt without a primary', () => {
  const readers = new LastReaders()
  readers.note({ write: null, reads: reads('open') }, 0)
  expect(readers.names(5_000)).toBeUndefined()
})

it('A replica counts that was not late within the lag that is allowed before the primary was known last', () => {
  const readers = new LastReaders()
  readers.note({ write: primary, reads: reads('open') }, 0)
  readers.note({ write: primary, reads: reads('kept') }, 5_000)
  readers.note({ write: null, reads: reads('kept') }, 60_000)
  expect(readers.names(5_000)).toEqual(new Set(['shop-0', 'shop-1']))
  expect(readers.names(4_999)).toEqual(new Set(['shop-0']))
})

it('A failover cuts the replicas off for a moment: nobody notices a source that is silent for less', () => {
  const readers = new LastReaders()
  readers.note({ write: primary, reads: reads('open') }, 0)
  readers.note({ write: primary, reads: reads('kept') }, 2_000)
  expect(readers.names(1)).toContain('shop-1')
  readers.note({ write: primary, reads: reads('kept') }, 2_001)
  expect(readers.names(1)).not.toContain('shop-1')
})

it('An instance that is away is forgotten', () => {
  const readers = new LastReaders()
  readers.note({ write: primary, reads: reads('open') }, 0)
  readers.note({ write: primary, reads: reads('open').slice(0, 1) }, 1)
  expect(readers.names(5_000)).toEqual(new Set(['shop-0']))
})
