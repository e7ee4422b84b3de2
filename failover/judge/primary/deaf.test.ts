import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { aSituation, shop1, shop2, type SituationOverrides } from '#failover/testing.ts'
import { deafnessAfter, type Deafness } from './deaf.ts'
import { callsForFailover, judgePrimary } from './verdict.ts'

const waited = `${uuidOf('shop-0')}:101`
const connected = (...names: readonly string[]) =>
  names.map((name, at) => ({ threadId: at, user: 'r', host: 'h', serverUuid: uuidOf(name), semiSync: true }))

function waiting(server: ViewOverrides['server'] = {}): ViewOverrides {
  return {
    server: {
      owned: waited,
      semiSyncSource: { waiting: 1 },
      dumpThreads: connected('shop-1', 'shop-2'),
      ...server,
    },
  }
}

const holding: ViewOverrides = { server: { received: gtids('shop-0', 101) } }

function heldIn(overrides: SituationOverrides): string {
  return deafnessAfter(null, aSituation(overrides))?.waited.toString() ?? ''
}

describe('What waits at the primary although enough replicas hold it', () => {
  it.each<readonly [string, SituationOverrides, string]>([
    ['is what one holds, where one must acknowledge', { views: { 'shop-0': waiting(), 'shop-1': holding } }, waited],
    ['is nothing where nobody holds that', { views: { 'shop-0': waiting() } }, ''],
    [
      'is nothing where nobody waits',
      { views: { 'shop-0': waiting({ semiSyncSource: { waiting: 0 } }), 'shop-1': holding } },
      '',
    ],
    [
      'is nothing where one holds that and two must acknowledge',
      {
        record: { acks: 2, acksWanted: 2 },
        views: { 'shop-0': waiting({ semiSyncSource: { waiting: 1, acks: 2 } }), 'shop-1': holding },
      },
      '',
    ],
    [
      'is what both hold, where two must acknowledge',
      {
        record: { acks: 2, acksWanted: 2 },
        views: {
          'shop-0': waiting({ semiSyncSource: { waiting: 1, acks: 2 } }),
          'shop-1': holding,
          'shop-2': holding,
        },
      },
      waited,
    ],
    [
      'is nothing where the holder is not connected',
      { views: { 'shop-0': waiting({ dumpThreads: connected('shop-2') }), 'shop-1': holding } },
      '',
    ],
    [
      'is nothing where the holder acknowledges nothing',
      {
        views: {
          'shop-0': waiting(),
          'shop-1': { server: { received: gtids('shop-0', 101), channel: { semiSync: false } } },
        },
      },
      '',
    ],
    [
      'is nothing where the holder is not in the sync set',
      { record: { syncSet: [shop2] }, views: { 'shop-0': waiting(), 'shop-1': holding } },
      '',
    ],
    [
      'is nothing by the last words of a silent server',
      { views: { 'shop-0': { ...waiting(), silentMs: 200 }, 'shop-1': holding } },
      '',
    ],
  ])('%s', (_, overrides, held) => {
    expect(heldIn({ record: { syncSet: [shop1, shop2], ...overrides.record }, ...overrides })).toBe(held)
  })
})

describe('A primary that does not hear its replicas', () => {
  it('is so since the same transactions wait, and not since others waited before', () => {
    const looks = [
      [1_000, '101'],
      [1_500, '102-103'],
      [2_000, '103-110'],
      [2_500, '110-111'],
      [3_000, ''],
    ] as const
    let deafness: Deafness | null = null
    const since = looks.map(([nowMs, interval]) => {
      const server = waiting({ owned: interval === '' ? '' : `${uuidOf('shop-0')}:${interval}` })
      const views = { 'shop-0': server, 'shop-1': { server: { received: gtids('shop-0', 200) } } }
      deafness = deafnessAfter(deafness, aSituation({ record: { syncSet: [shop1, shop2] }, views, nowMs }))
      return deafness?.sinceMs ?? null
    })
    expect(since).toEqual([1_000, 1_500, 1_500, 2_500, null])
  })

  it('is healthy for 3 s, and called deaf from then on', () => {
    const before = judgePrimary(aSituation({ nowMs: 10_000, deafSinceMs: 7_001 }))
    expect(before).toMatchObject({ kind: 'well', revisitMs: 1 })
    const deaf = judgePrimary(aSituation({ nowMs: 10_000, deafSinceMs: 7_000 }))
    expect(deaf).toMatchObject({
      kind: 'deaf',
      sentence:
        'writes at shop-0 have waited for 3000 ms for acknowledgements of what enough replicas hold: its server does not hear its replicas',
    })
    expect(callsForFailover(deaf)).toBe(true)
  })
})
