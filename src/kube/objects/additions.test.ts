import { expect, it } from 'vitest'
import { additionsIn } from './additions.ts'

it('what was taken away from an object is told by its path, entries of lists by their names', () => {
  const env = [{ name: 'TZ', value: 'UTC' }]
  const container = { name: 'mysql', env, image: 'mysql:9' }
  const hacked = { name: 'mysql', env: [{ name: 'LD_PRELOAD', value: 'x' }, ...env], image: 'mysql:8', tty: true }
  const told = additionsIn(
    { labels: { a: '1', b: '2' }, containers: [{ name: 'spy' }, hacked] },
    { labels: { a: '1' }, containers: [container] },
  )
  expect(told).toBe(
    'labels.b, containers.spy, containers.mysql.env.LD_PRELOAD, containers.mysql.image, containers.mysql.tty',
  )
})

it('nothing is told of what is the same, nor of what came', () => {
  expect(additionsIn({ a: [1, { name: 'x' }], b: {} }, { a: [1, { name: 'x', more: true }], b: {}, c: 1 })).toBe('')
})

it('of many things taken away the first are told, and how many more there were', () => {
  const before = Object.fromEntries(Array.from({ length: 9 }, (_, number) => [`f${number}`, number]))
  expect(additionsIn(before, {})).toBe('f0, f1, f2, f3, f4, f5 and 3 more')
})
