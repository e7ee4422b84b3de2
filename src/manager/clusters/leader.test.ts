import { expect, it } from 'vitest'
import type { Timer } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { memoryStore } from '#store/memory.ts'
import { Leader } from './leader.ts'

it('A claim that could not be taken up, because the store was lost again at that moment, is taken up at the next renewal, and one that is lost meanwhile is told', async () => {
  const told: boolean[] = []
  const troubles: string[] = []
  const renewals: (() => void)[] = []
  const every = (_ms: number, task: () => void): Timer => (renewals.push(task), { cancel: () => undefined })
  const store = memoryStore()
  let readable = false
  let lost = false
  const leader = new Leader({
    store: { ...store, lead: async (...asked) => (lost ? undefined : store.lead(...asked)) },
    world: {
      ...realWorld,
      timers: { ...realWorld.timers, every },
      clock: { ...realWorld.clock, monotonicMs: () => realWorld.clock.monotonicMs() + (lost ? 3_000 : 0) },
    },
    manager: 'm1',
    leadershipMs: 3_000,
    changed: async (leads) => {
      told.push(leads)
      if (leads && !readable) throw new Error('the record cannot be read')
    },
    failed: (error) => troubles.push(String(error)),
    storeSaid: (trouble) => troubles.push(trouble),
  })
  leader.start()
  await realWorld.timers.sleep(10)
  expect(leader.leads).toBe(false)
  lost = true
  renewals[0]?.()
  await realWorld.timers.sleep(10)
  expect(told).toEqual([true, false])
  lost = false
  readable = true
  renewals[0]?.()
  await realWorld.timers.sleep(10)
  expect(leader.leads).toBe(true)
  expect(told).toEqual([true, false, true])
  expect(troubles).toEqual(['', 'Error: the record cannot be read', '', ''])
  await leader.stop()
})

it('A manager that stops while the store takes the manager for the leader once more resigns after that', async () => {
  const { promise: slow, resolve: arrives } = Promise.withResolvers<void>()
  const store = memoryStore()
  const leader = new Leader({
    store: { ...store, lead: async (...asked) => (await slow, store.lead(...asked)) },
    world: realWorld,
    manager: 'm1',
    leadershipMs: 60_000,
    changed: async () => undefined,
    failed: (error) => expect.fail(String(error)),
    storeSaid: () => undefined,
  })
  leader.start()
  const stopped = leader.stop()
  arrives()
  await stopped
  expect(await store.lead('m2', 60_000)).toMatchObject({ manager: 'm2' })
})

it('A manager renews its claim while it takes up the lead, however long the store takes for that', async () => {
  const renewals: (() => void)[] = []
  const every = (_ms: number, task: () => void): Timer => (renewals.push(task), { cancel: () => undefined })
  const { promise: read, resolve: isRead } = Promise.withResolvers<void>()
  const store = memoryStore()
  let claims = 0
  const leader = new Leader({
    store: { ...store, lead: (...asked) => (claims++, store.lead(...asked)) },
    world: { ...realWorld, timers: { ...realWorld.timers, every } },
    manager: 'm1',
    leadershipMs: 60_000,
    changed: () => read,
    failed: (error) => expect.fail(String(error)),
    storeSaid: () => undefined,
  })
  leader.start()
  for (const renewal of [1, 2, 3]) {
    await realWorld.timers.sleep(10)
    expect(claims).toBe(renewal)
    renewals[0]?.()
  }
  expect(leader.leads).toBe(false)
  isRead()
  await realWorld.timers.sleep(10)
  expect(leader.leads).toBe(true)
  await leader.stop()
})
