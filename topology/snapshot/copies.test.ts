import { expect, it } from 'vitest'
import { shownGtids } from './copies.ts'

it('The set that a backup holds is shown as it is, and a long one by how many transactions it has', () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff'
  expect(shownGtids(`${uuid}:1-99`)).toBe(`${uuid}:1-99`)
  const intervals = Array.from({ length: 400 }, (_, at) => 2 * at + 1)
  expect(shownGtids(`${uuid}:${intervals.join(':')}`)).toBe('400 transactions')
})
