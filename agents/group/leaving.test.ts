import { expect, it } from 'vitest'
import type { GroupTask } from '#failover/protocol/assignment.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { Lease } from '../guard/lease.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { perform } from '../testing-passes.ts'
import { Group } from './group.ts'

/** One pass of the agent of shop-0, which is told this. */
async function passes(does: GroupTask['does'], sees: GroupShape, port: Partial<GroupPort>): Promise<Parts> {
  const state = aServerState(inGroup('shop-0', sees, { readOnly: true, superReadOnly: true, offlineMode: true }))
  const server = new ScriptedServer(state)
  const parts = await testParts(Object.assign(server, { group: port as GroupPort }))
  const group: GroupTask = { name: groupName, does, consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }
  await perform(parts, new Group(parts).next(viewOf(parts, state), { ...replicaOfEpoch3, group }))
  return parts
}

it('A member that is not to be one waits for its group for seconds only: it may be asked for a promise', async () => {
  const deadlines: (number | undefined)[] = []
  await passes('stayOut', { primary: 'shop-1' }, { stop: async (deadlineMs) => void deadlines.push(deadlineMs) })
  expect(deadlines).toEqual([3_000])
})

it('That its server joins an agent says until the agent has looked at what became of that', async () => {
  const joined = Promise.withResolvers<void>()
  const parts = await passes('join', outsideGroup(), { start: () => joined.promise })
  const says = () =>
    new ObservationBuilder(parts, { question: null } as Partial<Lease> as Lease, '0.1.0').build().joinsGroup
  await parts.observer.refresh()
  expect(says()).toBe(true)
  const starting = parts.jobs.startingGroup
  const looked = Promise.withResolvers<ServerState>()
  parts.server.readState = () => looked.promise
  joined.resolve()
  await starting
  expect([parts.jobs.startingGroup, says()]).toEqual([null, true])
  looked.resolve(aServerState(inGroup('shop-0')))
  await parts.observer.refresh()
  expect(says()).toBeUndefined()
})
