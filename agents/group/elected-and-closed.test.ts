import { expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, type GroupShape } from '#topology/testing-group.ts'
import { learn } from '../instance/learn.ts'
import { viewOf } from '../instance/pass.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { told } from '../testing-passes.ts'
import { Group } from './group.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: false }
const assignment: Assignment = {
  ...replicaOfEpoch3,
  group: { name: groupName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' },
}
const waits = 'elected by the group: it applies what it received before'

it.each<[string, GroupShape, string]>([
  ['is opened by its agent once that has lasted two seconds', {}, 'open; outdate; notice Opened'],
  ['is not opened while something is certified', { certifying: 1 }, waits],
  ['is not opened while something is applied', { applying: 1 }, waits],
])('A member that its group elects and leaves read-only %s', async (_, later, words) => {
  const parts = await testParts(new ScriptedServer(aServerState(inGroup('shop-0', {}, closed))))
  await parts.file.update({ promise: 3, revision: 10 })
  const passAt = (nowMs: number, sees: GroupShape) =>
    new Group(parts).next({ ...viewOf(parts, aServerState(inGroup('shop-0', sees, closed))), nowMs }, assignment)
  const first = passAt(1_000, {})
  expect(first.now).toEqual([{ fact: 'elected', viewId: expect.any(String) as string, atMs: 1_000 }])
  for (const fact of first.now ?? []) learn(parts, fact)
  expect(told(passAt(2_999, {}))).toBe(waits)
  expect(told(passAt(3_000, later))).toBe(words)
})
