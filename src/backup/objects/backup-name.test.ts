import fc from 'fast-check'
import { expect, it } from 'vitest'
import { backupName, secondOf } from './backup-name.ts'

const at = Date.UTC(2026, 10, 26, 3, 12, 9, 500)

it('A backup is named after the second in which it began, in UTC', () => {
  expect(backupName(at)).toBe('20261126T031209Z')
  expect(secondOf('20261126T031209Z')).toBe(at - 500)
})

it('A second backup of that second has a name behind the first one', () => {
  const taken = new Set<string>()
  for (let count = 0; count < 99; count += 1) taken.add(backupName(at, taken))
  expect([...taken].slice(0, 3)).toEqual(['20261126T031209Z', '20261126T031209Z-02', '20261126T031209Z-03'])
  expect([...taken].toSorted()).toEqual([...taken])
  expect([...taken].map(secondOf)).toEqual(Array.from({ length: 99 }, () => at - 500))
  expect(() => backupName(at, taken)).toThrow('backup 20261126T031209Z has 98 others of its second')
})

it('Names are in the order of their times', () => {
  const time = fc.integer({ min: 0, max: 4_102_444_800_000 })
  fc.assert(
    fc.property(time, time, (one, other) => {
      expect(secondOf(backupName(one))).toBe(Math.floor(one / 1_000) * 1_000)
      if (backupName(one) < backupName(other)) expect(one).toBeLessThan(other)
    }),
  )
})

it.each([
  '',
  'newest',
  '20261126T031209',
  '20261126T246060Z',
  '20260230T000000Z',
  '20261126T031209Z-2',
  '20261126T031209Z-01',
])('Nothing else is a name of a backup: %j', (name) => {
  expect(secondOf(name)).toBeNull()
})
