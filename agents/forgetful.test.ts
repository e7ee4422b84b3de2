import { expect, it } from 'vitest'
import { agentRoutes, type ReplicaAssignment } from '../failover/order.ts'
import { gtids } from '../topology/testing.ts'
import { Agent } from './agent.ts'
import { replicationUser } from './server-port.ts'
import { aServerState, MemoryDisk, replicaOfEpoch3, ScriptedServer, testParts } from './testing.ts'

const { source } = replicaOfEpoch3
const medium = { podUid: '', mounting: '', mount: null, filesystemErrors: null, file: '1:1' }
const held = (last: number) => gtids('shop-1', last)

/** The agent of a replica that follows shop-1 and has the first `last` transactions; its machine was booted since it was last told anything. */
async function afterTheCrash(last: number): Promise<{ agent: Agent; assign: (order: Partial<ReplicaAssignment>) => Promise<unknown> }> {
  const channel = { sourceHost: source.host, sourcePort: source.port, sourceUser: replicationUser('shop-0'), ioRunning: 'yes', semiSync: true, sqlRunning: true } as const
  const seen = (more: object) => aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, executed: held(last), received: '', ...more })
  const server = new ScriptedServer(seen({ channel: null }))
  const disk = new MemoryDisk()
  const start = async (bootId: string) => Agent.create({ ...(await testParts(server)), disk, machine: { bootId: async () => bootId }, medium: { read: async () => medium }, stateFile: 'state', log: () => undefined })
  const tell = (agent: Agent, order: Partial<ReplicaAssignment>) => {
    const whole = { ...replicaOfEpoch3, member: agent.observation().member, counted: true, ...order }
    return agent.orders.get(agentRoutes.assign)?.(whole) ?? Promise.reject(new Error('no such order'))
  }
  const before = await start('boot-1')
  await tell(before, { run: before.observation().agentRun, sourceHolds: held(last) })
  before.stop()
  server.state = seen({ channel })
  const agent = await start('boot-2')
  return { agent, assign: (order) => tell(agent, order) }
}

it('a forgetful replica waits for an assignment that was made for this start of its agent, and remembers once it has caught up with what that one says', async () => {
  const { agent, assign } = await afterTheCrash(5)
  const { agentRun, stored } = agent.observation()
  expect(stored).toMatchObject({ forgetful: true, assignment: { revision: 0 } })
  await assign({ run: agentRun, sourceHolds: held(9) })
  expect(agent.observation().stored).toMatchObject({ forgetful: true, assignment: { revision: 10 } })
  await assign({ run: agentRun, sourceHolds: held(5) })
  expect(agent.observation().stored.forgetful).toBe(false)
  agent.stop()
})

it('an assignment that was on its way when the machine crashed makes no forgetful replica remember', async () => {
  const { agent, assign } = await afterTheCrash(5)
  await expect(assign({ run: 'the run before', sourceHolds: held(5) })).rejects.toMatchObject({ code: 'REGENT_STALE_ORDER' })
  expect(agent.observation().stored).toMatchObject({ forgetful: true, assignment: { revision: 0 } })
  agent.stop()
})

it('an assignment of an older manager, which names no start, is obeyed, and the replica stays forgetful', async () => {
  const { agent, assign } = await afterTheCrash(5)
  await assign({ sourceHolds: held(5) })
  expect(agent.observation().stored).toMatchObject({ forgetful: true, assignment: { revision: 0 } })
  agent.stop()
})
