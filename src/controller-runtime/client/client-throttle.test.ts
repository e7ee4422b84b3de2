import { expect, test } from 'vitest'
import { ClientThrottle } from './client-throttle.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

test('a burst goes at once, and then no more than the rate', async () => {
  const world = virtualWorld()
  const throttle = new ClientThrottle({ qps: 10, burst: 3 }, world)
  const wentAtMs: number[] = []
  for (let request = 0; request < 6; request++)
    void throttle.take().then(() => wentAtMs.push(Math.round(world.clock.monotonicMs())))
  await world.advance(1_000)
  expect(wentAtMs).toEqual([0, 0, 0, 100, 200, 300])
})

test('a quiet time fills the burst again, and never more than it', async () => {
  const world = virtualWorld()
  const throttle = new ClientThrottle({ qps: 10, burst: 2 }, world)
  await Promise.all([throttle.take(), throttle.take()])
  await world.advance(3_600_000)
  let went = 0
  for (let request = 0; request < 5; request++) void throttle.take().then(() => went++)
  await world.settle()
  expect(went).toBe(2)
})

test('who gives up waiting gives the turn back', async () => {
  const world = virtualWorld()
  const throttle = new ClientThrottle({ qps: 1, burst: 1 }, world)
  await throttle.take()
  const stop = new AbortController()
  const given = throttle.take(stop.signal).catch((error: unknown) => error)
  await world.settle()
  stop.abort(new Error('enough'))
  expect(await given).toEqual(new Error('enough'))
  let wentAtMs = -1
  void throttle.take().then(() => (wentAtMs = world.clock.monotonicMs()))
  await world.advance(5_000)
  expect(wentAtMs).toBe(1_000)
})

test('a rate of zero or less is no limit', async () => {
  const throttle = new ClientThrottle({ qps: -1, burst: 0 }, virtualWorld())
  await Promise.all(Array.from({ length: 1_000 }, () => throttle.take()))
})
