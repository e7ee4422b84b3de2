import { describe, expect, it } from 'vitest'
import { memberOf } from '#topology/testing.ts'
import { groupName, inGroup, outsideGroup } from '#topology/testing-group.ts'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import { learn } from '../instance/learn.ts'
import { viewOf } from '../instance/pass.ts'
import type { GroupPort, GroupSettings } from '../ports/group.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { perform } from '../testing-passes.ts'
import { Group } from './group.ts'

const peers = ['shop-0', 'shop-1', 'shop-2', 'shop-3'].map((instance, at) => ({
  ...{ instance, host: '127.0.0.1', port: 10_000 + at, agent: `127.0.0.1:${9_400 + at}` },
}))
const group: GroupTask = { name: groupName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }

/** An instance that is told to join, or to form, the group of epoch 3, and was told to stay out in an epoch before. */
async function anOutsider(
  instance = 'shop-0',
  stayedOut: number | null = null,
  leader = 'shop-1',
  does: GroupTask['does'] = 'join',
) {
  const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
  const server = new ScriptedServer(aServerState({ ...inGroup('shop-0', outsideGroup(), closed) }))
  const started: GroupSettings[] = []
  const port = { start: async (settings: GroupSettings) => void started.push(settings) } as Partial<GroupPort>
  const parts = await testParts(Object.assign(server, { group: port as GroupPort }))
  // No time passes between an order and what follows from it.
  const clock = { ...parts.world.clock, monotonicMs: () => 0 }
  Object.assign(parts, { world: { ...parts.world, clock } })
  settable(parts).told.trustsAssignment = true
  const source = { ...replicaOfEpoch3.source, instance: leader }
  const assignment: Assignment = {
    ...replicaOfEpoch3,
    source,
    peers,
    member: memberOf(instance),
    group: { ...group, does },
  }
  const mode = new Group(parts)
  const told = (order: Assignment) => mode.next(viewOf(parts, server.state), order)
  if (stayedOut !== null) {
    const before = { ...assignment, epoch: stayedOut, group: { ...group, does: 'stayOut' as const } }
    await perform(parts, told(before))
    expect(told(before).steps).toEqual([])
  }
  const pass = () => told(assignment)
  return { parts, pass, started }
}

/** How long this instance waits before it joins. */
async function waited(instance: string, stayedOut: number | null): Promise<number> {
  const { parts, pass } = await anOutsider(instance, stayedOut)
  await perform(parts, { steps: (pass().steps ?? []).filter((step) => step.do === 'waitForTurn') })
  const { next, steps = [] } = pass()
  return steps.length > 0 || typeof next !== 'object' ? 0 : Math.round(next.afterMs / 100) * 100
}

describe('A member that waited outside while a group was formed', () => {
  it('joins in turn: no two start at once', async () => {
    const joiners = ['shop-0', 'shop-2', 'shop-3']
    expect(await Promise.all(joiners.map((name) => waited(name, 3)))).toEqual([0, 1_000, 2_000])
  })

  it('joins at once in an epoch in which it did not wait: the others are there', async () => {
    for (const epoch of [null, 2]) expect(await waited('shop-3', epoch)).toBe(0)
  })
})

it('A member asks the primary first: another one may be joining, too', async () => {
  const { parts, pass, started } = await anOutsider('shop-0', null, 'shop-2')
  await perform(parts, pass())
  await expect.poll(() => started).toHaveLength(1)
  expect(started[0]?.seeds).toEqual(['127.0.0.1:10002', '127.0.0.1:10001', '127.0.0.1:10003'])
})

describe('A member whose mysqld died a moment ago', () => {
  it.each([
    { does: 'join', leftMs: 3_000 },
    { does: 'form', leftMs: 0 },
  ] as const)('waits $leftMs ms to $does a group', async ({ does, leftMs }) => {
    const { parts, pass } = await anOutsider('shop-0', null, 'shop-1', does)
    learn(parts, { fact: 'joinsNotBefore', untilMs: 3_000 })
    const { next } = pass()
    expect(typeof next === 'object' ? Math.round(next.afterMs / 100) * 100 : 0).toBe(leftMs)
  })
})

it('A server does not join while the others are asked to remove the member that was there before', async () => {
  const { parts, pass } = await anOutsider()
  expect(pass().steps).not.toEqual([])
  settable(parts).jobs.expelling = new Promise(() => undefined)
  expect(pass().steps ?? []).toEqual([])
})
