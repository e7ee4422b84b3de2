import { expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import { viewOf } from '../instance/pass.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife } from '../testing-known.ts'
import { told } from '../testing-passes.ts'
import { Group } from './group.ts'
import { leadsGroup } from './stage.ts'

const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }
const newName = '0f0f0f0f-0b0b-8c0c-8d0d-0e0e0e0e0e0e'

/** What the agent of shop-0 does that is told to join the group `newName`. */
async function next(sees: GroupShape, more: ServerOverrides): Promise<string> {
  const server = aServerState(inGroup('shop-0', sees, more))
  const parts = await testParts(new ScriptedServer(server))
  await parts.file.update({ promise: 3, revision: 10 })
  changeLife(parts, { stage: leadsGroup })
  const group = { name: newName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' } as const
  const assignment: Assignment = { ...replicaOfEpoch3, group }
  return told(new Group(parts).next(viewOf(parts, server), assignment))
}

it('The primary of a group that was given up, and has its majority, closes and leaves: it would acknowledge beside the new one', async () => {
  expect(await next({}, open)).toBe('closeWithoutMajority; leaveGroup; outdate')
})

it('A member of it that recovers leaves too', async () => {
  expect(await next({ members: { 'shop-0': 'RECOVERING', 'shop-1': 'ONLINE' } }, closed)).toBe('leaveGroup; outdate')
})

it('One that has left joins the new group, and stays in that', async () => {
  expect(await next(outsideGroup(), closed)).toBe('joinGroup; joins the group')
  expect(await next({ name: newName }, open)).toBe('primary of the group, 3 of 3 members online')
  expect(groupName).not.toBe(newName)
})
