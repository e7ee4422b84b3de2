import { describe, expect, it } from 'vitest'
import { openEachTime, pause, type TwoStores } from './contract.ts'
import type { LeadingStore } from './store.ts'

/** What every store does by which managers settle who leads. */
export function itSettlesWhoLeads(open: () => Promise<TwoStores<LeadingStore>>): void {
  describe('leadership', () => {
    const stores = openEachTime(open)

    it('is one manager’s until it resigns, and the fencing token grows with the change of hands', async () => {
      const led = await stores.first.lead('a', 60_000)
      expect(led).toMatchObject({ manager: 'a' })
      expect(await stores.second.lead('b', 60_000)).toBeUndefined()
      expect(await stores.first.lead('a', 60_000)).toEqual(led)
      await stores.second.resign('b')
      expect(await stores.second.lead('b', 60_000)).toBeUndefined()
      await stores.first.resign('a')
      const next = await stores.second.lead('b', 60_000)
      expect(next?.manager).toBe('b')
      expect(next?.fencingToken).toBeGreaterThan(led?.fencingToken ?? Number.POSITIVE_INFINITY)
      expect(await stores.first.lead('a', 60_000)).toBeUndefined()
    })

    it('ends by itself when it is not renewed, and not while it is', async () => {
      const ttlMs = 1_500
      let askedAtMs = performance.now()
      let led = await stores.first.lead('a', ttlMs)
      // A renewal that came late says nothing.
      for (let inTime = 0; inTime < 3;) {
        await pause(600)
        const beganMs = performance.now()
        const [again, other] = [await stores.first.lead('a', ttlMs), await stores.second.lead('b', ttlMs)]
        if (performance.now() - askedAtMs < ttlMs) {
          expect([again, other]).toEqual([led, undefined])
          inTime += 1
        }
        if (other !== undefined) await stores.second.resign('b')
        askedAtMs = beganMs
        led = again
      }
      const next = await firstThatLeads(stores.second, 'b')
      expect(next.fencingToken).toBeGreaterThan(led?.fencingToken ?? Number.POSITIVE_INFINITY)
    })

    it('taken again after it ended has a new token', async () => {
      const led = await stores.first.lead('a', 1)
      await pause(20)
      const again = await stores.first.lead('a', 60_000)
      expect(again?.fencingToken).toBeGreaterThan(led?.fencingToken ?? Number.POSITIVE_INFINITY)
    })

    it('goes to exactly one of many who ask at once', async () => {
      const asked = await Promise.all(
        ['a', 'b', 'c', 'd'].map((manager, number) =>
          (number % 2 === 0 ? stores.first : stores.second).lead(manager, 60_000),
        ),
      )
      expect(asked.filter((one) => one !== undefined)).toHaveLength(1)
    })

    it.each([0, -1, Number.NaN, 4_000_000])('is refused for %d ms', async (ttlMs) => {
      await expect(stores.first.lead('a', ttlMs)).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
    })
  })
}

async function firstThatLeads(store: LeadingStore, manager: string) {
  for (const started = performance.now(); performance.now() - started < 10_000; await pause(20)) {
    const led = await store.lead(manager, 400)
    if (led !== undefined) return led
  }
  throw new Error(`${manager} never led`)
}
