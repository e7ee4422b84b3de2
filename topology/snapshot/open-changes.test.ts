import { expect, it } from 'vitest'
import { undoMs, whyNoTimeToUndo } from './open-changes.ts'

const changes = [
  { session: 21, user: 'client', rows: 140_000 },
  { session: 30, user: 'admin', rows: 20_000 },
]

it('Undoing is taken to be slow, and of several transactions one after the other', () => {
  expect(undoMs([])).toBe(0)
  expect(undoMs(changes)).toBe(16_000)
})

it('Transactions that cannot be undone in time are named with their rows, and with the time that they need', () => {
  expect(whyNoTimeToUndo(changes, 16_000)).toBeNull()
  expect(String(whyNoTimeToUndo(changes, 7_000))).toBe(
    'session 21 of client has changed 140000 rows, session 30 of admin has changed 20000 rows and not committed; undoing takes up to 16 s, and there are 7 s for that',
  )
})
