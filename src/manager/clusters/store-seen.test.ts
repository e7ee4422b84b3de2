import { expect, it } from 'vitest'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'
import { storeSeen } from './store-seen.ts'

const seen = (newest: string, lookedAgoMs: number | null, answers = true): BackupsSeen => ({
  ...{ whole: 1, leftovers: 0, begun: null, verified: null, sentence: '', lookedAgoMs, answers },
  newest: { name: newest, endedAtMs: 1, rawBytes: 1, storedBytes: 1 },
})
const inputOf = (primary: string | undefined, all: Readonly<Record<string, BackupsSeen | undefined>>) =>
  ({
    record: primary === undefined ? undefined : { primary },
    snapshot: {
      instances: Object.entries(all).map(([member, backups]) => ({
        name: member,
        observation: { member, ...(backups && { backups }) },
      })),
    },
  }) as unknown as DecisionInput

it.each([
  ['the primary, though a former primary stands before it', 'b', { a: seen('old', 9e6), b: seen('new', 5) }, 'new'],
  ['the primary, whose store does not answer', 'b', { a: seen('old', 9e6), b: seen('new', 9e7, false) }, 'new'],
  ['a former primary, while the new one has not looked', 'b', { a: seen('old', 9e6), b: undefined }, 'old'],
  ['who looked last, where no record is known', undefined, { a: seen('old', 9e6), b: seen('new', 5) }, 'new'],
  ['whoever looked at all', undefined, { a: seen('none', null), b: seen('new', 9e6) }, 'new'],
  ['nobody, where nobody looked', 'b', { a: undefined, b: undefined }, undefined],
] as const)('The store of backups is seen as by %s', (_who, primary, all, expected) => {
  expect(storeSeen(inputOf(primary, all))?.newest?.name).toBe(expected)
})
