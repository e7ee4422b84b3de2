import { describe, expect, it } from 'vitest'
import { inGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { OldAddresses } from './old-addresses.ts'

const nothing: () => Promise<void> = async () => undefined

/** The agent of shop-0. It looks at once, and again after a rest. */
async function member(sees: GroupShape = {}, { repeats = nothing } = {}) {
  let repeated = 0
  let nowMs = 0
  const group: Pick<GroupPort, 'repeatConfiguration'> = {
    repeatConfiguration: async () => {
      repeated++
      await repeats()
    },
  }
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees)))
  const made = await testParts(Object.assign(server, { group: group as GroupPort }), { process: new ScriptedProcess() })
  const timers = { ...made.world.timers, sleep: async () => undefined }
  const clock = { ...made.world.clock, monotonicMs: () => nowMs }
  const parts = { ...made, world: { ...made.world, timers, clock } }
  const becomes = async (shape: GroupShape): Promise<void> => {
    server.state = aServerState(inGroup('shop-0', shape))
    parts.observer.outdate()
    await parts.observer.refresh()
  }
  await parts.observer.refresh()
  const watcher = watcherOf(parts, new OldAddresses(parts))
  const looks = async (afterMs = 12_000): Promise<void> => {
    for (const ms of [0, afterMs]) {
      nowMs += ms
      await watcher.look()
    }
  }
  return { looks, becomes, repeated: () => repeated }
}

describe('The agent of a primary', () => {
  it('has its group agree ten times on what it is, once in each view', async () => {
    const { looks, becomes, repeated } = await member()
    await looks()
    await looks()
    expect(repeated()).toBe(10)
    await becomes({ viewId: viewId(6) })
    await looks()
    expect(repeated()).toBe(20)
  })

  it('goes on where one was refused', async () => {
    const { looks, repeated } = await member({}, { repeats: () => Promise.reject(new Error('too busy')) })
    await looks()
    expect(repeated()).toBe(10)
  })

  it('waits until every member is online', async () => {
    const joining: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } }
    const { looks, becomes, repeated } = await member(joining)
    await looks()
    expect(repeated()).toBe(0)
    await becomes({})
    await looks()
    expect(repeated()).toBe(10)
  })

  it('stops in the middle where the view changes, and begins anew in the next', async () => {
    const { looks, becomes, repeated } = await member(
      {},
      { repeats: async () => (repeated() === 2 ? becomes({ viewId: viewId(6) }) : nothing()) },
    )
    await looks()
    expect(repeated()).toBe(2)
    await looks()
    expect(repeated()).toBe(12)
  })

  it('rests for 12 s after a change: what is repeated before leaves the lost member known', async () => {
    const { looks, becomes, repeated } = await member()
    await looks(11_999)
    expect(repeated()).toBe(0)
    await becomes({ viewId: viewId(6) })
    await looks(11_999)
    expect(repeated()).toBe(0)
    await looks(1)
    expect(repeated()).toBe(10)
  })
})

it('A secondary leaves that to the primary', async () => {
  const { looks, repeated } = await member({ primary: 'shop-1' })
  await looks()
  expect(repeated()).toBe(0)
})
