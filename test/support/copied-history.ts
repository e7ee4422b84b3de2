import { expect } from 'vitest'
import type { LoadedNote } from '#agents/lifecycle/worker/load-folder.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'

/** What a copy has executed lies between the bounds of its note, and is a part of what the primary has by now. */
export function expectBeginningOfHistory(executed: GtidSet, { atLeast, atMost }: LoadedNote, now: GtidSet): void {
  expect(
    parseGtidSet(atLeast ?? '')
      .subtract(executed)
      .toString(),
  ).toBe('')
  expect(executed.subtract(parseGtidSet(atMost ?? '')).toString()).toBe('')
  expect(executed.subtract(now).toString()).toBe('')
}
