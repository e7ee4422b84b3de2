import { expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { GroupTask } from '#failover/protocol/assignment.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { Lease } from '../guard/lease.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
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

/** An agent whose server is older than the agent, as an agent before left it: outside of the group, by a look. */
async function agentAfterAnother(stop: NonNullable<GroupPort['stop']>) {
  const parts = await passes('join', outsideGroup(), { stop, start: () => Promise.reject(new Error('not now')) })
  await expect.poll(() => parts.jobs.startingGroup).toBeNull()
  settable(parts).jobs.mayBeStartingGroup = true
  await parts.observer.refresh()
  const mode = new Group(parts)
  const shown = () =>
    new ObservationBuilder(parts, { question: null } as Partial<Lease> as Lease, '0.1.0').build().joinsGroup
  const staysOut = () => {
    const group: GroupTask = { name: groupName, does: 'stayOut', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }
    const { state } = parts.server as ScriptedServer
    return perform(parts, mode.next(viewOf(parts, state), { ...replicaOfEpoch3, group }))
  }
  return { parts, mode, shown, staysOut }
}

it('A start that an agent before may have begun is shown, and keeps the data, until a stop was answered', async () => {
  let stops = 0
  const { mode, shown, staysOut } = await agentAfterAnother(async () => void (stops += 1))
  expect([shown(), String(mode.whyNotSeeded())]).toEqual([true, 'it is still in its replication group'])
  await staysOut()
  expect([stops, mode.whyNotSeeded()]).toEqual([1, null])
  await staysOut()
  expect(stops).toBe(1)
})

it('A start that goes on while a stop waits for it stays shown', async () => {
  const late = new RegentError('REGENT_SERVER_TIMEOUT', say`STOP GROUP_REPLICATION was not answered`)
  const { parts, shown, staysOut } = await agentAfterAnother(() => Promise.reject(late))
  await staysOut().catch(() => undefined)
  expect([parts.jobs.mayBeStartingGroup, shown()]).toEqual([true, true])
})

it('A start that the server refused tells that no other start is under way', async () => {
  const answer = Promise.withResolvers<void>()
  const parts = await passes('join', outsideGroup(), { start: () => answer.promise })
  settable(parts).jobs.mayBeStartingGroup = true
  answer.reject(new Error('already running'))
  await expect.poll(() => parts.jobs.groupFailure).toBe('already running')
  expect(parts.jobs.mayBeStartingGroup).toBe(false)
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
