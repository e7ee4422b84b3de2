import { expect, it } from 'vitest'
import { startedAtIn } from './started-at.ts'

it.each<[string, object, number]>([
  ['while its clock goes on', { now: 1_800_000_100, uptime: '100' }, 1_800_000_000],
  ['after its clock was put back', { now: 1_800_000_020, uptime: '20' }, 1_800_000_000],
  [
    'after its clock was put back to an hour before',
    { now: 1_799_996_400, uptime: '18446744073709548016' },
    1_800_000_000,
  ],
  ['where the server prints a sign', { now: 1_799_996_400, uptime: '-3600' }, 1_800_000_000],
])('A mysqld started when it did %s', (_, row, startedAt) => {
  expect(startedAtIn(row as never)).toBe(startedAt)
})
