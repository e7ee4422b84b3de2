import { expect, it } from 'vitest'
import { timingsFor } from './reflector-timings.ts'

/** Requests a minute of a manager that watches 15 kinds in so many namespaces one by one. */
const watchesAMinute = (namespaces: number) => {
  const { shortestWatchMs, longestWatchMs } = timingsFor(namespaces)
  return (15 * namespaces * 60_000) / ((shortestWatchMs + longestWatchMs) / 2)
}

it('A watch that is silent is dead after 45 s, and after 90 s at most where many namespaces are watched one by one', () => {
  expect(timingsFor(1).idleMs).toBe(45_000)
  expect(timingsFor(8).idleMs).toBe(45_000)
  expect(timingsFor(64).idleMs).toBe(90_000)
})

it.each([1, 2, 8, 9, 12, 16, 64])('No live watch of %i namespaces is taken for dead', (namespaces) => {
  const { shortestWatchMs, longestWatchMs, idleMs, muteMs } = timingsFor(namespaces)
  // A bookmark comes each minute, and two seconds before the end: so Kubernetes' watch cache does.
  expect(idleMs).toBeGreaterThanOrEqual(Math.min(longestWatchMs - 2_000, 61_000) + 4_000)
  expect(muteMs).toBeGreaterThan(idleMs)
  expect(shortestWatchMs).toBeLessThan(longestWatchMs)
})

it('What that costs does not grow with the namespaces', () => {
  expect(watchesAMinute(1)).toBeLessThan(30)
  expect(watchesAMinute(64)).toBeLessThanOrEqual(watchesAMinute(8))
})
