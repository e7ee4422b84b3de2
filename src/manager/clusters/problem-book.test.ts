import { expect, it } from 'vitest'
import { ProblemBook } from './problem-book.ts'

const lagging = (seconds: number) => ({
  code: 'ReplicaLagging',
  instance: 'shop-1',
  sentence: `shop-1 is ${seconds} s behind`,
})
const paused = { code: 'Paused', instance: null, sentence: 'automatic actions are paused' }

it('A problem is the same one in each look, since the first, whatever figures are in its sentence; one that ended begins anew', () => {
  const book = new ProblemBook()
  const since = (...found: Parameters<ProblemBook['note']>) =>
    book.note(...found).map((one) => `${one.code} ${one.since.slice(17, 19)}`)
  expect(since([lagging(3)], 1_000)).toEqual(['ReplicaLagging 01'])
  expect(since([paused, lagging(4)], 2_000)).toEqual(['Paused 02', 'ReplicaLagging 01'])
  expect(since([lagging(5), { ...lagging(5), instance: 'shop-2' }], 3_000)).toEqual([
    'ReplicaLagging 01',
    'ReplicaLagging 03',
  ])
  expect(since([paused], 4_000)).toEqual(['Paused 04'])
  expect(since([lagging(1)], 5_000)).toEqual(['ReplicaLagging 05'])
})
