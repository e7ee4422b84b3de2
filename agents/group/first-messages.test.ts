import { expect, it } from 'vitest'
import { inGroup } from '#topology/testing-group.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { FirstMessages } from './first-messages.ts'

async function aMember(agree: () => Promise<void>) {
  const state = aServerState(inGroup('shop-0', { primary: 'shop-1' }))
  const process = new ScriptedProcess()
  const server = Object.assign(new ScriptedServer(state), { group: { agree } as GroupPort })
  const fixed = await testParts(server, { process })
  let nowMs = 0
  const clock = { ...fixed.world.clock, monotonicMs: () => nowMs }
  const parts = { ...fixed, world: { ...fixed.world, clock } }
  await parts.observer.refresh()
  const later = (ms: number) => void (nowMs += ms)
  return { parts, process, state, server, later, first: watcherOf(parts, new FirstMessages(parts)) }
}

it('A member sends twenty messages once, one after the other, and as many after another start of its server', async () => {
  let [sent, underWay, most] = [0, 0, 0]
  const { first, process, parts } = await aMember(async () => {
    sent++
    most = Math.max(most, ++underWay)
    await parts.world.timers.sleep(1)
    underWay--
  })
  await Promise.all([first.look(), first.look()])
  await first.look()
  expect([sent, most]).toEqual([20, 1])
  process.pid = 4712
  await first.look()
  expect(sent).toBe(40)
})

it('A message that nobody agrees on in time is sent again after a rest, since it may not have been sent', async () => {
  let [tried, fails] = [0, true]
  const { first, later } = await aMember(async () => {
    tried += 1
    if (fails) throw new Error('too late')
  })
  await first.look()
  later(49)
  await first.look()
  expect(tried).toBe(1)
  later(1)
  await first.look()
  expect(tried).toBe(2)
  fails = false
  later(100)
  await first.look()
  expect(tried).toBe(22)
})

it('Who is in no group sends nothing, and who has joined again begins anew', async () => {
  let sent = 0
  const { first, parts, state, server } = await aMember(async () => void sent++)
  await first.look()
  server.readState = async () => ({ ...state, group: { ...state.group!, state: 'OFFLINE', members: [] } })
  parts.observer.outdate()
  await parts.observer.refresh()
  await first.look()
  expect(sent).toBe(20)
  server.readState = async () => state
  parts.observer.outdate()
  await parts.observer.refresh()
  await first.look()
  expect(sent).toBe(40)
})
