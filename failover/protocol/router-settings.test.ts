import { expect, it } from 'vitest'
import { routerSettings, whyTooExact } from './router-settings.ts'

it('What is not said of a router has its default, also within "reads"', () => {
  expect(routerSettings({ waitMs: 5, reads: { fallback: 'none' } })).toEqual({
    ...{ waitMs: 5, connectMs: 50, drainMs: 30_000, maxConnections: 4_000, logSessions: false },
    reads: { maxLagMs: 5_000, fallback: 'none' },
  })
})

it.each([
  [{ reads: { maxLagMs: 999 } }, 1_000, true],
  [{ reads: { maxLagMs: 1_000 } }, 1_000, false],
  [{ reads: { maxLagMs: 1 } }, 0, false],
  [{}, 60_000, true],
])('maxLagMs must not be below the heartbeat: %j at %i ms', (said, heartbeatMs, isRefused) => {
  const why = String(whyTooExact(said, heartbeatMs))
  expect(why.includes('reads.maxLagMs is')).toBe(isRefused)
  expect(why.length).toBeLessThanOrEqual(160)
})
