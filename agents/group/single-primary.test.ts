import { describe, expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { GroupShape } from '#topology/testing-group.ts'
import { groupName, inGroup } from '#topology/testing-group.ts'
import { uuidOf, type ServerOverrides } from '#topology/testing.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { SinglePrimaryWatch, writesHere } from './single-primary.ts'

const group = { name: groupName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' } as const
const leads: Assignment = { ...primaryOfEpoch3, group }
/** shop-1 leads by the record. */
const follows: Assignment = { ...replicaOfEpoch3, group }
const all = ['shop-0', 'shop-1', 'shop-2']
const isMulti: ServerOverrides = {
  changedSettings: [{ name: 'group_replication_single_primary_mode', seen: '0', wanted: 'ON' }],
}

/** The agent of shop-0, and what it asks its group. */
async function member(sees: GroupShape, assignment: Assignment, more: ServerOverrides = {}, refuses = false) {
  const asked: string[] = []
  const port = {
    leadAlone: async (uuid: string, deadlineMs: number) => {
      asked.push(`${uuid} within ${deadlineMs} ms`)
      if (refuses) throw new Error('a member is joining')
    },
  } as unknown as GroupPort
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees, more)))
  const parts = await testParts(Object.assign(server, { group: port }))
  await parts.file.update({ promise: 3, revision: 10, assignment })
  await parts.observer.refresh()
  let nowMs = 0
  const clock = { ...parts.world.clock, monotonicMs: () => nowMs }
  const watch = watcherOf(parts, new SinglePrimaryWatch({ ...parts, world: { ...parts.world, clock } }))
  const look = async (passedMs = 0): Promise<readonly string[]> => {
    nowMs += passedMs
    await watch.look()
    return asked
  }
  const said = () => parts.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)
  return { look, said }
}

describe('A group in multi-primary mode', () => {
  it('is switched back by its primary, once, which says so', async () => {
    const { look, said } = await member({ writers: all }, leads)
    expect(await look()).toEqual([`${uuidOf('shop-0')} within 20000 ms`])
    expect(await look(500)).toHaveLength(1)
    expect(said()).toEqual([
      'SinglePrimaryAgain: the group was in multi-primary mode by another hand, and has one primary again: shop-0',
    ])
  })

  it('is asked again after a second where it refused, and that is said', async () => {
    const { look, said } = await member({ writers: all }, leads, {}, true)
    await look()
    expect(await look(1_000)).toHaveLength(2)
    expect(said()).toEqual([
      'MultiPrimaryStays: the group is in multi-primary mode by another hand, and could not be switched back: a member is joining',
    ])
  })

  it('is switched back by another member where its primary is not there any more', async () => {
    const members = { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } as const
    expect(await (await member({ members, writers: all }, follows)).look()).toHaveLength(1)
  })

  it('is switched back also where it has one member left', async () => {
    const alone: GroupShape = { members: { 'shop-0': 'ONLINE' }, writers: ['shop-0'] }
    expect(await (await member(alone, follows, isMulti)).look()).toHaveLength(1)
    expect(await (await member(alone, follows)).look()).toEqual([])
  })

  it.each<[string, GroupShape, Assignment]>([
    ['by no other member while its primary writes', { writers: all }, follows],
    [
      'by nobody while there is no majority',
      { writers: all, members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE' } },
      leads,
    ],
    ['where it is in single-primary mode', {}, leads],
  ])('is not switched back %s', async (_, sees, assignment) => {
    expect(await (await member(sees, assignment)).look()).toEqual([])
  })
})

it('A member knows the primary of its record by the server, and by the address where that is not known', () => {
  const of = (assignment: Assignment, shape: GroupShape) => {
    const server = aServerState(inGroup('shop-0', shape))
    return writesHere(server, server.group!, assignment)
  }
  expect(of(follows, { writers: all })).toBe(false)
  expect(of({ ...follows, sourceUuid: uuidOf('shop-1') }, { writers: all })).toBe(false)
  expect(of({ ...follows, sourceUuid: uuidOf('shop-9') }, { writers: all })).toBe(true)
  expect(of(follows, { writers: ['shop-0'] })).toBe(true)
  expect(of(leads, { writers: ['shop-1'] })).toBe(false)
})
