import { expect, it } from 'vitest'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { orders } from '#failover/protocol/order.ts'
import { gtids } from '#topology/testing.ts'
import { Agent } from '../agent.ts'
import { Lease } from '../guard/lease.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import { hearOfForgetful } from './forgetful.ts'
import { replicationUser } from '../ports/server.ts'
import { aServerState, MemoryDisk, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'

const { source } = replicaOfEpoch3
const medium = { podUid: '', mounting: '', mount: null, filesystemErrors: null, file: '1:1' }
const held = (last: number) => gtids('shop-1', last)

/**
 * The agent of a replica that follows shop-1 and has the first `last` transactions; its machine was booted since it was
 * last told anything.
 */
async function afterTheCrash(
  last: number,
): Promise<{ agent: Agent; assign: (order: Partial<ReplicaAssignment>) => Promise<unknown> }> {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    ioRunning: 'yes',
    semiSync: true,
    sqlRunning: true,
  } as const
  const seen = (more: object) =>
    aServerState({
      readOnly: true,
      superReadOnly: true,
      semiSyncSource: { enabled: false },
      executed: held(last),
      received: '',
      ...more,
    })
  const server = new ScriptedServer(seen({ channel: null }))
  const disk = new MemoryDisk()
  const start = async (bootId: string) =>
    Agent.create({
      ...(await testParts(server)),
      disk,
      machine: { bootId: async () => bootId },
      medium: { read: async () => medium },
      stateFile: 'state',
      log: () => undefined,
    })
  const tell = (agent: Agent, order: Partial<ReplicaAssignment>) => {
    const whole = { ...replicaOfEpoch3, member: agent.observation().member, counted: true, ...order }
    return agent.orders.get(orders.assign.route)?.(whole) ?? Promise.reject(new Error('no such order'))
  }
  const before = await start('boot-1')
  await tell(before, { run: before.observation().agentRun, sourceHolds: held(last) })
  before.stop()
  server.state = seen({ channel })
  const agent = await start('boot-2')
  return { agent, assign: (order) => tell(agent, order) }
}

it('a forgetful replica waits to be told what its primary held after that had heard of it, and remembers once it holds all of that', async () => {
  const { agent, assign } = await afterTheCrash(5)
  const { agentRun: run, forgetfulAs, stored } = agent.observation()
  expect(stored.forgetful).toBe(true)
  expect(forgetfulAs).toBe(`${run}.0`)
  await assign({ run, sourceHolds: held(5) })
  expect(agent.observation()).toMatchObject({ forgetfulAs, stored: { forgetful: true } })
  await assign({ run, sourceHolds: held(9), catchUpFor: `${run}.0` })
  expect(agent.observation()).toMatchObject({ stored: { forgetful: true } })
  expect(agent.observation()).not.toHaveProperty('forgetfulAs')
  await assign({ run, sourceHolds: held(5), catchUpFor: `${run}.0` })
  expect(agent.observation().stored.forgetful).toBe(false)
  agent.stop()
})

it('what its primary held before it forgot something is no answer, and nor is what another primary held', async () => {
  const { agent, assign } = await afterTheCrash(5)
  const run = agent.observation().agentRun
  await assign({ run, sourceHolds: held(5), catchUpFor: 'the run before.0' })
  expect(agent.observation()).toMatchObject({ forgetfulAs: `${run}.0`, stored: { forgetful: true } })
  await assign({ run, sourceHolds: held(9), catchUpFor: `${run}.0` })
  await assign({ run, epoch: 4, revision: 11, sourceHolds: held(5) })
  expect(agent.observation()).toMatchObject({ forgetfulAs: `${run}.0`, stored: { forgetful: true } })
  agent.stop()
})

it('an assignment that was on its way when the machine crashed makes no forgetful replica remember', async () => {
  const { agent, assign } = await afterTheCrash(5)
  await expect(assign({ run: 'the run before', sourceHolds: held(5) })).rejects.toMatchObject({
    code: 'REGENT_STALE_ORDER',
  })
  expect(agent.observation().stored.forgetful).toBe(true)
  agent.stop()
})

it('an assignment of an older manager, which names nothing that was forgotten, is obeyed, and the replica stays forgetful', async () => {
  const { agent, assign } = await afterTheCrash(5)
  await assign({ sourceHolds: held(5) })
  expect(agent.observation().stored).toMatchObject({ forgetful: true, assignment: { revision: 10 } })
  agent.stop()
})

it('a primary shows whom it has heard of only with what its server said after that', async () => {
  const parts = await testParts(new ScriptedServer(aServerState()))
  const { observer, server } = parts
  let answers = (): void => undefined
  const readState = server.readState.bind(server)
  const answered = new Promise<void>((resolve) => (answers = resolve))
  server.readState = () => answered.then(readState)
  const shown = () => new ObservationBuilder(parts, new Lease(parts, () => undefined), '0').build().heardForgetful
  const begunBefore = observer.refresh()
  server.readState = () => Promise.reject(new Error('no answer'))
  hearOfForgetful(parts, { 'shop-1': 'run-1.0' })
  expect(parts.told.heardForgetful).toEqual({ 'shop-1': 'run-1.0' })
  answers()
  // Whoever waits for that look gets one that counts, or hears why there is none.
  await expect(begunBefore).rejects.toThrow('no answer')
  expect(observer.isFresh).toBe(false)
  expect(shown()).toEqual({})
  server.readState = readState
  await observer.refresh()
  expect(observer.isFresh).toBe(true)
  expect(shown()).toEqual({ 'shop-1': 'run-1.0' })
})
