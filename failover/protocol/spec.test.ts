import { describe, expect, it, test } from 'vitest'
import { contradictionIn, defaultTimings, type Timings } from './timings.ts'
import { acksFor, whyNotInMode } from './spec.ts'
import { aSpec } from '../testing.ts'

test.each([
  [1, null, 0],
  [2, null, 1],
  [3, null, 1],
  [4, null, 2],
  [5, null, 2],
  [3, 2, 2],
  [3, 9, 2],
  [3, 0, 0],
  [1, 2, 0],
])('with %i instances and acks %s, a write needs %i acknowledgements', (instances, acks, k) => {
  expect(acksFor(aSpec({ acks }), instances)).toBe(k)
})

describe('timings', () => {
  it('as delivered do not contradict each other', () => {
    expect(contradictionIn(defaultTimings)).toBeUndefined()
  })

  const cases: readonly (readonly [Partial<Timings>, string])[] = [
    [{ leaseRenewMs: 2_001 }, 'leaseRenewMs × 3 must not exceed leaseMs'],
    [{ heartbeatMs: 401 }, 'heartbeatMs × 3 must not exceed unreachableMs'],
    [{ queryDeadlineMs: 1_201 }, 'queryDeadlineMs must not exceed frozenMs'],
    [{ processWatchMs: 501 }, 'processWatchMs must not exceed observeMs'],
    [{ replicaWatchMs: 501 }, 'replicaWatchMs must not exceed observeMs'],
    [{ unreachableMs: 6_000 }, 'unreachableMs must be shorter than leaseMs'],
    [{ leaseMs: 6_001 }, 'leaseMs must not exceed 6000: managers wait for no longer lease before another leads'],
    [
      { heartbeatMs: 401, unreachableMs: 1_203 },
      'heartbeatMs must not exceed 400: managers take an agent for unreachable that is silent for 1200',
    ],
  ]
  it.each(cases)('that contradict each other are told: %j', (change, says) => {
    expect(String(contradictionIn({ ...defaultTimings, ...change }))).toBe(says)
  })
})

it('In mode async no write needs an acknowledgement, however many instances there are, and none can be asked for', () => {
  const spec = aSpec({ mode: 'async' })
  expect([1, 2, 3, 9].map((instances) => acksFor(spec, instances))).toEqual([0, 0, 0, 0])
  expect(whyNotInMode(spec)).toBeUndefined()
  expect(whyNotInMode({ ...spec, acks: 0 })).toBeUndefined()
  expect(whyNotInMode({ ...spec, acks: 1 })).toBe(
    'acks is 1 in mode async; allowed is 0, or nothing: no write waits for an acknowledgement there; use mode semisync',
  )
})

it('A loss is accepted ahead of time in mode async alone, and up to something that is said', () => {
  const failover = { automatic: true, acceptLoss: 'upTo' } as const
  const acceptLossUpTo = { seconds: 10, transactions: 5 }
  expect(whyNotInMode(aSpec({ mode: 'async', failover }))).toMatch(/^failover\.acceptLoss is upTo and .* is missing/)
  expect(whyNotInMode(aSpec({ mode: 'async', failover: { ...failover, acceptLossUpTo } }))).toBeUndefined()
  expect(whyNotInMode(aSpec({ failover: { ...failover, acceptLossUpTo } }))).toMatch(
    /^failover\.acceptLoss is upTo in mode semisync; allowed is never/,
  )
})
