import { describe, expect, it } from 'vitest'
import { inGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { ProtocolWatch } from './protocol-watch.ts'

/** The agent of shop-0, whose group speaks that protocol. */
async function member(sees: GroupShape = {}, { spoken = '8.0.16', refuses = false } = {}) {
  const now = { spoken }
  const asked: string[] = []
  const group: Pick<GroupPort, 'protocol' | 'setProtocol'> = {
    protocol: async () => now.spoken,
    setProtocol: async (version, deadlineMs) => {
      asked.push(`${version} within ${deadlineMs} ms`)
      if (refuses) throw new Error('a member is recovering')
      now.spoken = version
    },
  }
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees)))
  const parts = await testParts(Object.assign(server, { group: group as GroupPort }))
  await parts.observer.refresh()
  let nowMs = 0
  const clock = { ...parts.world.clock, monotonicMs: () => nowMs }
  const watch = watcherOf(parts, new ProtocolWatch({ ...parts, world: { ...parts.world, clock } }))
  const look = async (passedMs = 5_000): Promise<readonly string[]> => {
    nowMs += passedMs
    await watch.look()
    return asked
  }
  const sees2 = async (shape: GroupShape): Promise<void> => {
    server.state = aServerState(inGroup('shop-0', shape))
    parts.observer.outdate()
    await parts.observer.refresh()
  }
  const said = () => parts.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)
  return { look, said, now, becomes: sees2 }
}

describe('The agent of a primary', () => {
  it('raises the protocol of the group to the highest that each member speaks, with a deadline, and says so', async () => {
    const { look, said } = await member()
    expect(await look()).toEqual(['8.0.27 within 20000 ms'])
    expect(said()).toEqual([
      'GroupProtocolRaised: the group speaks protocol 8.0.27 from now on: each member runs MySQL 9.7.4 or newer, and the group spoke 8.0.16',
    ])
  })

  it('does so once in a view, also where that failed, and in another view again', async () => {
    const { look, said, becomes } = await member({}, { refuses: true })
    await look()
    expect(await look()).toHaveLength(1)
    expect(said()).toEqual([
      'GroupProtocolStays: the protocol could not be raised to 8.0.27: a member is recovering; each member runs MySQL 9.7.4 or newer, and the group spoke 8.0.16',
    ])
    await becomes({ viewId: viewId(6) })
    expect(await look()).toHaveLength(2)
    expect(await look(600_000)).toHaveLength(3)
  })

  it('looks every few seconds only', async () => {
    const { look, now } = await member({}, { spoken: '8.0.27' })
    await look()
    now.spoken = '8.0.16'
    expect(await look(4_000)).toEqual([])
    expect(await look(1_000)).toHaveLength(1)
  })

  it.each<[string, GroupShape, string?]>([
    ['a member does not speak a higher one', { versions: { 'shop-2': '8.0.26' } }],
    ['the group speaks the highest already', {}, '8.0.27'],
    ['the group speaks one that is newer than Regent', {}, '10.1.0'],
    ['another member is primary', { primary: 'shop-1' }],
    ['a member recovers', { members: { 'shop-0': 'ONLINE', 'shop-1': 'RECOVERING' } }],
    ['a member is not heard', { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE' } }],
    ['nobody knows what is spoken', {}, ''],
  ])('leaves the protocol as it is where %s', async (_, sees, spoken = '8.0.16') => {
    const { look } = await member(sees, { spoken })
    expect(await look()).toEqual([])
  })
})
