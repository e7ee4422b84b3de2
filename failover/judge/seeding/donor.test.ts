import { describe, expect, it } from 'vitest'
import type { SeedingFailure } from '#topology/snapshot/copies.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import type { Decision } from '#failover/protocol/decision.ts'
import { aSituation, shop1, type SituationOverrides } from '#failover/testing.ts'

const failed = (donor: string, agoMs: number, times = 1): SeedingFailure => ({
  donor,
  times,
  error: `${donor} refused`,
  agoMs,
})

/** `shop-2` began to be seeded; `shop-1`, which follows, and the primary `shop-0` could give. */
function decisionAfter(
  failures: readonly SeedingFailure[],
  given: SituationOverrides & { readonly seeded?: ViewOverrides } = {},
): Decision {
  const seeded = {
    process: 'dead',
    server: null,
    stored: { seeding: true },
    seedingFailures: failures,
    ...given.seeded,
  } as const
  return decide(
    aSituation({
      ...given,
      record: { syncSet: [shop1], acks: 1, acksWanted: 1 },
      views: { ...given.views, 'shop-2': seeded },
    }),
  )
}

function donorIn({ actions }: Decision): string | undefined {
  return actions.flatMap((action) => (action.kind === 'reseed' ? [action.order.donor.instance] : []))[0]
}

const unfit: ViewOverrides = { server: { foreignTables: ['app.legacy'] } }

describe('a donor', () => {
  const cases: Readonly<Record<string, readonly [donor: string | undefined, failures: readonly SeedingFailure[]]>> = {
    'is a replica as long as nothing failed': ['shop-1', []],
    'that failed is followed by another at once': ['shop-0', [failed('shop-1', 10)]],
    'that failed is not tried again while another did not fail, however long ago that was': [
      'shop-0',
      [failed('shop-1', 3_600_000)],
    ],
    'is not tried before its pause ended when all have failed': [
      undefined,
      [failed('shop-1', 900), failed('shop-0', 100)],
    ],
    'waits for an instance whose own mysqld failed, and so do all others': [undefined, [failed('shop-2', 900)]],
    'that did not fail is taken again once an instance whose own mysqld failed has waited': [
      'shop-1',
      [failed('shop-2', 1_000)],
    ],
    'is tried again after its pause': ['shop-1', [failed('shop-1', 1_000), failed('shop-0', 100)]],
    'waits twice as long after each further failure': [
      undefined,
      [failed('shop-1', 3_900, 3), failed('shop-0', 1_900, 2)],
    ],
    'has its turn although it failed more often than the other': [
      'shop-1',
      [failed('shop-1', 60_000, 4), failed('shop-0', 50_000)],
    ],
    'never waits more than two minutes': [
      'shop-1',
      [failed('shop-1', 120_000, 1_000), failed('shop-0', 119_000, 1_000)],
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [donor, failures]) => {
    expect(donorIn(decisionAfter(failures))).toBe(donor)
  })

  it('that is copied is named with those that failed before it', () => {
    const copying = { seedingProgress: { stage: 'file copy', percent: 3, donor: 'shop-0' } }
    expect(decisionAfter([failed('shop-1', 10)]).sentence).toBe(
      'shop-2 began a seeding that has not ended; a copy of shop-1 failed (shop-1 refused); it is archived and seeded again from shop-0',
    )
    expect(decisionAfter([failed('shop-1', 10, 2)], { seeded: copying }).sentence).toBe(
      'shop-2 is seeded from shop-0 (file copy); 2 copies of shop-1 failed (shop-1 refused)',
    )
  })

  it('is not named where the own mysqld of the instance failed', () => {
    const decision = decisionAfter([failed('shop-2', 600, 2)])
    expect(decision).toMatchObject({ blocked: true, revisitMs: 1_400 })
    expect(decision.sentence).toBe(
      'shop-2 began a seeding that has not ended; 2 copies failed (shop-2 refused); it is tried again 2 s after that',
    )
  })

  it('that is the only one is tried again after a pause, and it is said so', () => {
    const decision = decisionAfter([failed('shop-1', 600, 2)], { views: { 'shop-0': unfit } })
    expect(donorIn(decision)).toBeUndefined()
    expect(decision).toMatchObject({ blocked: true, revisitMs: 1_400 })
    expect(decision.sentence).toBe(
      'shop-2 began a seeding that has not ended; 2 copies of shop-1 failed (shop-1 refused); shop-1 is tried again 2 s after it failed',
    )
    expect(donorIn(decisionAfter([failed('shop-1', 2_000, 2)], { views: { 'shop-0': unfit } }))).toBe('shop-1')
  })

  it.each([
    ['may lack what a replication filter left out', { filterSeen: true }],
    ['was open for writes', { opened: true }],
    ['may have forgotten what it received', { forgetful: true }],
  ])('is nobody who %s: the copy would not know of that', (_, stored) => {
    expect(donorIn(decisionAfter([], { views: { 'shop-1': { stored } } }))).toBe('shop-0')
  })

  it('is whoever stays rather than one that was told to end, with whom the copy would end', () => {
    const staying = { views: { 'shop-1': { terminating: true } } } as const
    expect(donorIn(decisionAfter([], staying))).toBe('shop-0')
    expect(donorIn(decisionAfter([], { views: { ...staying.views, 'shop-0': unfit } }))).toBe('shop-1')
  })

  it('is not taken away from a copy that is under way', () => {
    const copying = { seedingProgress: { stage: 'file copy', percent: 3, donor: 'shop-1' } }
    expect(decisionAfter([failed('shop-1', 100, 3)], { seeded: copying }).sentence).toMatch(
      /^shop-2 is seeded from shop-1/,
    )
  })

  it('that is the primary and was closed for the copy stays closed during its pause', () => {
    const donating = {
      assignment: {
        epoch: 1,
        revision: 1,
        role: 'primary',
        counted: false,
        fenced: false,
        source: null,
        donates: true,
      },
    } as const
    const views = {
      'shop-0': { stored: donating, server: { openGates: ['shop-1', 'shop-2'], readOnly: true, offlineMode: true } },
      'shop-1': { reachable: false },
    } as const
    const decision = decisionAfter([failed('shop-0', 600)], {
      nowMs: 5_000,
      strayingSince: new Map([['shop-1', 100]]),
      views,
    })
    expect(decision.sentence).toMatch(/shop-0 is tried again 1 s after it failed$/)
    expect(decision.actions.filter((action) => action.kind === 'assign' && action.to === 'shop-0')).toEqual([])
  })

  it('of another series, or of an old release that is not its own, is none', () => {
    const runs = (version: string) => ({ server: { version } })
    const errant = {
      server: { executed: `${gtids('shop-0', 100)},${gtids('shop-2', 3)}` },
      stored: {
        assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
      },
    } as const
    const decisionOf = (primary: string, replica: string, itself: string) =>
      decide(
        aSituation({
          record: { syncSet: [shop1] },
          views: {
            'shop-0': runs(primary),
            'shop-1': runs(replica),
            'shop-2': { ...errant, server: { ...errant.server, version: itself } },
          },
        }),
      )
    expect(donorIn(decisionOf('9.7.4', '9.6.0', '9.7.5'))).toBe('shop-0')
    expect(donorIn(decisionOf('8.0.36', '8.0.40', '8.0.37'))).toBe('shop-1')
    expect(donorIn(decisionOf('8.0.36', '8.0.40', '8.0.36-debug'))).toBe('shop-0')
    const nobody = decisionOf('9.6.0', '9.6.0', '9.7.4')
    expect(nobody).toMatchObject({ blocked: true })
    expect(nobody.sentence).toContain(
      'it is not seeded: it runs MySQL 9.7.4, shop-0 9.6.0, and a copy is possible within a series only',
    )
  })

  it('that one instance waits for is no reason for another one to wait', () => {
    const due = { process: 'dead', server: null, stored: { seeding: true } } as const
    const decision = decisionAfter([failed('shop-1', 10)], {
      shape: { instances: 4 },
      views: { 'shop-0': unfit, 'shop-3': due },
    })
    expect(decision.actions.find(({ kind }) => kind === 'reseed')).toMatchObject({ to: 'shop-3' })
  })
})
