import { expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { ServerClock } from './server-clock.ts'

it('The API server’s clock is what its last answer said, and goes on from there', async () => {
  const world = virtualWorld()
  const clock = new ServerClock(world.clock)
  const here = world.clock.wallMs()
  expect(clock.wallMs()).toBe(here)
  clock.heard(here - 7_200_000)
  clock.heard(undefined)
  await world.advance(5_000)
  expect(clock.wallMs()).toBe(here - 7_200_000 + 5_000)
})
