import { describe, expect, it } from 'vitest'
import { inGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { OldAddresses } from './old-addresses.ts'

const nothing: () => Promise<void> = async () => undefined

/** The agent of shop-0, at that address. */
async function member(sees: GroupShape = {}, { host = '10.0.0.1', repeats = nothing } = {}) {
  let repeated = 0
  const group: Pick<GroupPort, 'repeatConfiguration'> = {
    repeatConfiguration: async () => {
      repeated++
      await repeats()
    },
  }
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees)))
  const made = await testParts(Object.assign(server, { group: group as GroupPort }), { process: new ScriptedProcess() })
  const timers = { ...made.world.timers, sleep: async () => undefined }
  const parts = { ...made, config: { ...made.config, host }, world: { ...made.world, timers } }
  const becomes = async (shape: GroupShape): Promise<void> => {
    server.state = aServerState(inGroup('shop-0', shape))
    parts.observer.outdate()
    await parts.observer.refresh()
  }
  await parts.observer.refresh()
  return { addresses: watcherOf(parts, new OldAddresses(parts)), becomes, repeated: () => repeated }
}

describe('The agent of a primary', () => {
  it('has its group agree six times on what it is, once in each view', async () => {
    const { addresses, becomes, repeated } = await member()
    await addresses.look()
    await addresses.look()
    expect(repeated()).toBe(6)
    await becomes({ viewId: viewId(6) })
    await addresses.look()
    expect(repeated()).toBe(12)
  })

  it('goes on where one was refused', async () => {
    const { addresses, repeated } = await member({}, { repeats: () => Promise.reject(new Error('too busy')) })
    await addresses.look()
    expect(repeated()).toBe(6)
  })

  it('waits until every member is online', async () => {
    const joining: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } }
    const { addresses, becomes, repeated } = await member(joining)
    await addresses.look()
    expect(repeated()).toBe(0)
    await becomes({})
    await addresses.look()
    expect(repeated()).toBe(6)
  })

  it('stops in the middle where the view changes, and begins anew in the next', async () => {
    const { addresses, becomes, repeated } = await member(
      {},
      { repeats: async () => (repeated() === 2 ? becomes({ viewId: viewId(6) }) : nothing()) },
    )
    await addresses.look()
    expect(repeated()).toBe(2)
    await addresses.look()
    expect(repeated()).toBe(8)
  })

  it('does nothing at addresses that refuse at once', async () => {
    const { addresses, repeated } = await member({}, { host: '127.24.1.1' })
    await addresses.look()
    expect(repeated()).toBe(0)
  })
})

it('A secondary leaves that to the primary', async () => {
  const { addresses, repeated } = await member({ primary: 'shop-1' })
  await addresses.look()
  expect(repeated()).toBe(0)
})
