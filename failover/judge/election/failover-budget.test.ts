import { describe, expect, it, test } from 'vitest'
import { decide } from '#failover/decide.ts'
import { automaticFailoverAt, budgetOf, budgetSentence, failoverBudget, whySpent } from './failover-budget.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { aSituation, aSpec, deadPrimary } from '#failover/testing.ts'

const nowMs = Date.UTC(2026, 0, 1, 12)
const seconds = (ago: number) => nowMs - ago * 1_000

function budgetAfter(secondsAgo: readonly number[], failover: Partial<ClusterSpec['failover']> = {}) {
  return failoverBudget(
    aSituation({
      wallMs: nowMs,
      notes: { automaticFailovers: secondsAgo.map(seconds) },
      spec: { failover: { automatic: true, ...failover } },
    }),
  )
}

describe('of three automatic failovers in five minutes', () => {
  const cases: Readonly<Record<string, readonly [usedSecondsAgo: readonly number[], left: number, says: string]>> = {
    'none was used': [[], 3, ''],
    'one was used': [[60], 2, '2 of 3 automatic failovers left until 12:04:00 UTC'],
    'two were used': [[61, 60], 1, '1 of 3 automatic failovers left until 12:03:59 UTC'],
    'three were used': [[62, 61, 60], 0, '0 of 3 automatic failovers left until 12:03:58 UTC'],
    'the first of three has come back after five minutes': [
      [302, 301, 298],
      1,
      '1 of 3 automatic failovers left until 12:04:58 UTC',
    ],
    'they come back one by one, not all at once': [
      [602, 601, 600],
      2,
      '2 of 3 automatic failovers left until 12:04:58 UTC',
    ],
    'all are back': [[903, 902, 901], 3, ''],
    'two unrelated ones ten minutes apart are as good as one': [
      [660, 60],
      2,
      '2 of 3 automatic failovers left until 12:04:00 UTC',
    ],
    'whoever uses each as soon as it comes back gets one per window': [
      [1_200, 1_200, 1_200, 900, 600, 300],
      1,
      '1 of 3 automatic failovers left until 12:05:00 UTC',
    ],
    'more were used than there are: it is empty, not worse': [
      [5, 4, 3, 2, 1],
      0,
      '0 of 3 automatic failovers left until 12:04:59 UTC',
    ],
    'those of the future, which a wrong clock noted, count for nothing': [
      [-3_600, -86_400, 60],
      2,
      '2 of 3 automatic failovers left until 12:04:00 UTC',
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [used, left, says]) => {
    const budget = budgetAfter(used)
    expect(budget?.left).toBe(left)
    expect(String(budgetSentence(budget))).toBe(says)
  })

  it('the next one is named when all are used', () => {
    expect(String(whySpent(budgetAfter([62, 61, 60])))).toBe(
      'all 3 automatic failovers are used up until 12:03:58 UTC (one comes back every 300 s)',
    )
    expect(whySpent(budgetAfter([61, 60]))).toBeNull()
  })
})

test.each<readonly [string, Partial<ClusterSpec['failover']>, ReturnType<typeof budgetOf>]>([
  ['nothing is said: three in five minutes', {}, { failovers: 3, windowMs: 300_000 }],
  ['only the older window is given: one in that time', { windowMs: 60_000 }, { failovers: 1, windowMs: 60_000 }],
  ['the older window is 0: no limit', { windowMs: 0 }, null],
  ['a budget is given: it applies', { budget: { failovers: 5, windowMs: 1_000 } }, { failovers: 5, windowMs: 1_000 }],
  [
    'both are given: the budget applies',
    { budget: { failovers: 5, windowMs: 1_000 }, windowMs: 0 },
    { failovers: 5, windowMs: 1_000 },
  ],
])('where %s', (_, failover, applies) => {
  expect(budgetOf(aSpec({ failover: { automatic: true, ...failover } }))).toEqual(applies)
})

describe('the older window alone', () => {
  it('holds a second failover back as it always did', () => {
    expect(String(whySpent(budgetAfter([30], { windowMs: 60_000 })))).toBe(
      'the last automatic failover was at 11:59:30 UTC, the next one may be at 12:00:30 UTC (window 60 s)',
    )
    expect(whySpent(budgetAfter([61], { windowMs: 60_000 }))).toBeNull()
  })

  it('of 0 holds nothing back and says nothing', () => {
    expect(budgetAfter([1, 1, 1, 1], { windowMs: 0 })).toBeNull()
    expect(budgetSentence(null)).toBe('')
    expect(whySpent(null)).toBeNull()
  })
})

describe('the notes', () => {
  it('of an older manager, which noted the last failover only, count that one', () => {
    expect(failoverBudget(aSituation({ wallMs: nowMs, notes: { lastFailoverWallMs: seconds(60) } }))).toMatchObject({
      left: 2,
    })
    expect(automaticFailoverAt(nowMs)({ ...emptyNotes, lastFailoverWallMs: seconds(60) })).toMatchObject({
      lastFailoverWallMs: nowMs,
      automaticFailovers: [seconds(60), nowMs],
    })
  })

  it('say the same however often one failover is noted', () => {
    const once = automaticFailoverAt(nowMs)(emptyNotes)
    expect(automaticFailoverAt(nowMs)(once)).toEqual(once)
  })

  it('stay short, forget what a wrong clock put into the future, and still know that nothing is left', () => {
    const junk: ClusterNotes = { ...emptyNotes, automaticFailovers: [nowMs + 1e9], lastFailoverWallMs: nowMs + 1e9 }
    // One per window, as fast as the budget lets them, for five hours.
    const times = Array.from({ length: 60 }, (_, index) => seconds(300 * (59 - index)))
    const notes = times.reduce((before, atMs) => automaticFailoverAt(atMs)(before), junk)
    expect(notes.automaticFailovers).toEqual(times.slice(-32))
    expect(failoverBudget(aSituation({ wallMs: nowMs, notes }))).toMatchObject({ left: 0 })
  })
})

describe('a healthy cluster', () => {
  const used = { wallMs: nowMs, notes: { automaticFailovers: [seconds(60)] } }

  it('says how many are left while one is missing, and decides again when it is back', () => {
    const decision = decide(aSituation(used))
    expect(decision.sentence).toBe(
      'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set; 2 of 3 automatic failovers left until 12:04:00 UTC',
    )
    expect(decision).toMatchObject({ actions: [], revisitMs: 240_000 })
  })

  it('says nothing of them where failovers are a person’s', () => {
    expect(decide(aSituation({ ...used, spec: { failover: { automatic: false } } })).sentence).toBe(
      'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set',
    )
  })
})

describe('a dead primary', () => {
  const dead = { 'shop-0': deadPrimary }

  it.each([[[]], [[2]], [[4, 2]]])('is replaced after automatic failovers %j s ago', (used) => {
    expect(
      decide(aSituation({ wallMs: nowMs, notes: { automaticFailovers: used.map(seconds) }, views: dead })).flow,
    ).toBe('failover')
  })

  it('is started where it was once all failovers are used, and it is said until when', () => {
    const decision = decide(
      aSituation({ wallMs: nowMs, notes: { automaticFailovers: [6, 4, 2].map(seconds) }, views: dead }),
    )
    expect(decision.flow).toBe('restart')
    expect(decision.sentence).toBe(
      'restarting shop-0 in place: mysqld of shop-0 is dead, and all 3 automatic failovers are used up until 12:04:54 UTC (one comes back every 300 s); by hand: regent failover',
    )
  })

  it('is replaced all the same when a person asks', () => {
    const asked = { kind: 'failover', id: 'asked', to: null, acceptLoss: false } as const
    expect(
      decide(
        aSituation({
          wallMs: nowMs,
          notes: { automaticFailovers: [6, 4, 2].map(seconds) },
          views: dead,
          requests: [asked],
        }),
      ).flow,
    ).toBe('failover')
  })
})
