import { say } from '#common/sentence/sentence.ts'
import { expect, it } from 'vitest'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { hostOf, memberOf } from '#topology/testing.ts'
import { Converger } from './converger.ts'
import { replicationUser } from '../ports/server.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'

const source = { instance: 'shop-1', host: hostOf('shop-1'), port: 3306, agent: `${hostOf('shop-1')}:9400` }
const held = '11111111-1111-1111-1111-111111111111:1-10'
const assignment: ReplicaAssignment = {
  version: 1,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  role: 'replica',
  peers: [],
  fenced: false,
  source,
  counted: false,
  sourceUuid: '',
  sourceHolds: '',
  sourcePurged: '',
}

it('A follower that has caught up after a crash of its machine says so at once, also where nothing else is new', async () => {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    ioRunning: 'yes',
    sqlRunning: true,
    semiSync: false,
  } as const
  const server = new ScriptedServer(
    aServerState({
      executed: held,
      readOnly: true,
      superReadOnly: true,
      offlineMode: false,
      semiSyncSource: { enabled: false },
      channel,
    }),
  )
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment, forgetful: true })
  settable(parts).course.converged = { revision: 10, done: true, sentence: say`follows shop-1` }
  changeLife(parts, { relayLogsDiscarded: true })
  let shown = 0
  const converger = new Converger(parts, () => (shown += 1))
  await converger.pass()
  expect(parts.file.current.forgetful).toBe(true)
  expect(shown).toBe(0)
  settable(parts).told.catchUpTo = held
  await converger.pass()
  expect(parts.file.current.forgetful).toBe(false)
  expect(shown).toBe(1)
  converger.stop()
})

it.each([
  ['a primary', primaryOfEpoch3, 10],
  ['a replica', replicaOfEpoch3, 50],
  ['whoever has no assignment yet', null, 10],
])('Looks at the process of %s as often as its end has to be seen', async (_, assigned, everyMs) => {
  const process = new ScriptedProcess()
  const parts = await testParts(new ScriptedServer(aServerState()), { process })
  await parts.file.update({ promise: 3, revision: 10, assignment: assigned })
  const converger = new Converger(parts, () => undefined)
  await converger.pass()
  converger.stop()
  expect(process.lookEveryMs).toBe(everyMs)
})

it('Tries a pass that fails again by one timer, however often it was woken meanwhile', async () => {
  const server = new ScriptedServer(aServerState())
  server.readState = () => Promise.reject(new Error('no answer'))
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: replicaOfEpoch3 })
  const due = new Set<object>()
  const after = (): { cancel(): void } => {
    const timer = { cancel: () => void due.delete(timer) }
    due.add(timer)
    return timer
  }
  const world = { ...parts.world, timers: { ...parts.world.timers, after } }
  const converger = new Converger({ ...parts, world }, () => undefined)
  for (let pass = 0; pass < 3; pass += 1) await converger.pass()
  expect(due.size).toBe(1)
  converger.stop()
})
