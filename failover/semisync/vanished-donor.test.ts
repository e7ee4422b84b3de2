import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { ordersOf, type SituationOverrides } from '../testing.ts'
import { decisionFor } from './testing-reseeding.ts'

/** shop-2 is being made a copy of shop-1, of which nothing came for so long. */
const copying = (stillMs?: number): ViewOverrides => ({
  server: null,
  process: 'running',
  stored: { seeding: true },
  seedingProgress: {
    stage: 'file copy',
    percent: 40,
    donor: 'shop-1',
    ...(stillMs === undefined ? {} : { stillMs }),
  },
})

/** When all agents of these tests were heard last. */
const heardAtMs = 1_000

/** The agent of shop-1 was heard last so long ago. */
const unheard = (forMs: number): SituationOverrides => ({
  nowMs: heardAtMs + forMs,
  views: { 'shop-1': { reachable: false } },
})

describe('A copy whose donor is gone with its machine', () => {
  it('is ended, and another one is copied: MySQL would wait for 300 s', () => {
    const decision = decisionFor(copying(31_000), unheard(31_000))
    expect(ordersOf(decision)).toContain('reseed shop-2 1@1')
    expect(decision.actions).toContainEqual(
      expect.objectContaining({
        order: expect.objectContaining({
          donor: expect.objectContaining({ instance: 'shop-0' }) as unknown,
        }) as unknown,
      }),
    )
    expect(decision.sentence).toBe(
      'shop-2 received nothing from shop-1 for 31 s, and the agent of shop-1 is not heard: that copy is ended, and shop-0 is copied',
    )
  })

  it.each<[string, ViewOverrides, SituationOverrides]>([
    ['still comes, slow as that may be', copying(900), unheard(60_000)],
    ['stands still for less than what counts', copying(29_000), unheard(60_000)],
    ['stands still, and the agent of the donor is heard', copying(200_000), { nowMs: 60_000 }],
    ['stands still, and the agent of the donor was heard a moment ago', copying(200_000), unheard(29_000)],
    ['comes from the disk by now, or its agent is older', copying(), unheard(60_000)],
  ])('is left alone where it %s', (_, view, given) => {
    const decision = decisionFor(view, given)
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision.sentence).toContain('shop-2 is seeded from shop-1 (file copy)')
  })
})
