import { describe, expect, it } from 'vitest'
import { decide } from '../decide.ts'
import type { Recovery } from '../protocol/notes.ts'
import { aSituation, committed, shop1, shop2, type SituationOverrides } from '../testing.ts'

const wallMs = 10_000_000
const well = { 'shop-2': { processSinceMs: 60_000 } } as const

function decided(given: SituationOverrides = {}, recoveries: readonly Partial<Recovery>[] = []) {
  const ended: Recovery = {
    ...{
      id: 'one',
      kind: 'failover',
      startedWallMs: wallMs - 61_000,
      analysis: '',
      sentence: '',
      from: null,
      to: null,
    },
    ...{ fromEpoch: 1, toEpoch: 2, outcome: 'succeeded', timeline: [{ atMs: 1_000, what: 'ended: succeeded' }] },
  }
  return decide(
    aSituation({
      views: well,
      wallMs,
      ...given,
      spec: {
        policies: { 'shop-2': { promotion: 'neutral', priority: 2 }, 'shop-1': { promotion: 'neutral', priority: 1 } },
        failover: { automatic: true, backAfterSeconds: 60 },
        ...given.spec,
      },
      notes: { recoveries: recoveries.map((one) => ({ ...ended, ...one })), ...given.notes },
    }),
  )
}

const begins = (decision: ReturnType<typeof decided>): boolean => decision.flow === 'switchover'

describe('An instance that is preferred to the primary', () => {
  it('leads again by a switchover once all has been well for as long as was asked', () => {
    const decision = decided({}, [{}])
    expect(begins(decision)).toBe(true)
    expect(committed(decision)).toMatchObject({
      intent: { kind: 'switchover', candidate: shop2, reason: 'shop-2 is preferred to shop-0, and well again' },
    })
  })

  it('is none of those that never lead', () => {
    const policies = {
      'shop-2': { promotion: 'never', priority: 2 },
      'shop-1': { promotion: 'neutral', priority: 1 },
    } as const
    const decision = decided({ spec: { policies }, views: { 'shop-1': { processSinceMs: 60_000 } } })
    expect(committed(decision)).toMatchObject({ intent: { candidate: shop1 } })
  })

  it('is the most preferred one, and no other one while that is down', () => {
    const views = { 'shop-2': { reachable: false }, 'shop-1': { processSinceMs: 60_000 } } as const
    expect(begins(decided({ views }))).toBe(false)
  })

  it.each<[string, SituationOverrides, readonly Partial<Recovery>[]]>([
    ['where nobody asked for that', { spec: { failover: { automatic: true } } }, []],
    ['where it is like any other', { spec: { policies: {} } }, []],
    ['while its mysqld is younger', { views: { 'shop-2': { processSinceMs: 59_000 } } }, []],
    ['while the last recovery is younger', {}, [{ startedWallMs: wallMs - 60_500 }]],
    ['while something is recovered', {}, [{ outcome: 'running' }]],
    ['after a clock was set back', {}, [{ startedWallMs: wallMs + 1_000 }]],
    [
      'in its downtime',
      { notes: { downtimes: [{ instance: 'shop-2', untilWallMs: wallMs + 1_000, reason: 'disk', owner: '' }] } },
      [],
    ],
    ['while it does not count', { record: { syncSet: [shop1] } }, []],
    ['while the cluster is paused', { notes: { paused: { reason: 'work', wallMs } } }, []],
  ])('waits %s', (_, given, recoveries) => {
    expect(begins(decided(given, recoveries))).toBe(false)
  })
})
