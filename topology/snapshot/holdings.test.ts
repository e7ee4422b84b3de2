import { expect, test } from 'vitest'
import { errantOf } from './comparison.ts'
import { holdsOf } from './holdings.ts'
import { anObservation, gtids, uuidOf } from '../testing.ts'

test('an instance holds what it executed, received and waits to commit', () => {
  const seen = anObservation({
    server: { executed: gtids('shop-0', 5), received: `${uuidOf('shop-0')}:6-8`, owned: `${uuidOf('shop-0')}:9` },
  })
  expect(holdsOf(seen).toString()).toBe(gtids('shop-0', 9))
})

test('a primary whose mysqld is dead holds everything in its binlog files too', () => {
  const seen = anObservation({
    instance: 'shop-0',
    process: 'dead',
    server: { executed: gtids('shop-0', 5) },
    binlogSet: gtids('shop-0', 7),
  })
  expect(holdsOf(seen).toString()).toBe(gtids('shop-0', 7))
})

test('a report under a promise is the whole truth, whatever the server said before', () => {
  const promiseReport = { epoch: 2, holds: gtids('shop-0', 4), executed: gtids('shop-0', 3), asPrimary: false }
  expect(holdsOf(anObservation({ promiseReport })).toString()).toBe(gtids('shop-0', 4))
})

test('an instance whose server never answered holds nothing that is known', () => {
  expect(holdsOf(anObservation({ server: null })).isEmpty()).toBe(true)
})

test('errant is what the source never had, but for what it may have issued since', () => {
  const source = anObservation({ instance: 'shop-0' })
  const replica = anObservation({ server: { executed: `${gtids('shop-0', 120)},${gtids('shop-1', 3)}` } })
  expect(errantOf(replica, source).toString()).toBe(gtids('shop-1', 3))
  expect(errantOf(anObservation(), source).isEmpty()).toBe(true)
})
