import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpTransport } from '#common/http/http-transport.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { orders } from '#failover/protocol/order.ts'
import { words } from '#failover/protocol/word.ts'
import { memberId } from '#topology/snapshot/member.ts'
import { Agent } from './agent.ts'
import { createAgentServer } from './http.ts'
import { aServerState, MemoryDisk, primaryOfEpoch3, ScriptedServer, testParts } from './testing.ts'

const token = 'the-same-token'

/** The agent of shop-0 of cluster shop, over HTTP. */
async function anAgent() {
  const parts = await testParts(new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true })))
  const medium = { read: async () => ({ podUid: '', mounting: '', mount: null, filesystemErrors: null, file: '1:1' }) }
  const agent = await Agent.create({
    ...parts,
    disk: new MemoryDisk(),
    machine: { bootId: async () => 'boot' },
    medium,
    stateFile: 'state',
    log: () => undefined,
  })
  const server = createAgentServer(agent, { token })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const transport = createHttpTransport({ token })
  onTestFinished(() => {
    transport.close()
    server.closeAllConnections()
    server.close()
    agent.stop()
  })
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { agent, tell: (route: string, body: unknown) => transport.post(address, route, body, 5_000) }
}

const base = { version: orderVersion, cluster: 'shop', epoch: 3, revision: 10 } as const

/** What an order could change. */
const storedBy = (agent: Agent) => agent.observation().stored

it.each([
  ['an order to promise', orders.promise.route, { after: '', waitMs: 0 }],
  ['an assignment', orders.assign.route, { ...primaryOfEpoch3 }],
  ['the word that its epoch goes on', words.lease.route, { question: 1 }],
  ['the word that it leads', words.word.route, {}],
])('%s of another cluster’s manager is refused with both names, and changes nothing', async (_, route, body) => {
  const { agent, tell } = await anAgent()
  const { member } = agent.observation()
  const before = storedBy(agent)
  const order = { ...base, ...body, cluster: 'warehouse', member }
  await expect(tell(route, order)).rejects.toMatchObject({
    code: 'REGENT_WRONG_MEMBER',
    message: expect.stringMatching(
      /is for shop-0@\S+ of cluster warehouse; this is shop-0@\S+ of cluster shop/,
    ) as string,
  })
  expect(storedBy(agent)).toEqual(before)
  const elsewhere = { ...base, ...body, member: memberId('shop-0', 'another-volume') }
  await expect(tell(route, elsewhere)).rejects.toMatchObject({ code: 'REGENT_WRONG_MEMBER' })
  expect(storedBy(agent)).toEqual(before)
})

it('A manager of another cluster is not told what is looked after', async () => {
  const { tell } = await anAgent()
  const request = { version: orderVersion, cluster: 'warehouse' }
  await expect(tell(words.watches.route, request)).rejects.toMatchObject({
    code: 'REGENT_WRONG_MEMBER',
    message: expect.stringContaining(
      'a manager of cluster warehouse asks what is looked after; this is shop-0 of cluster shop',
    ) as string,
  })
})

it('An agent of another cluster gets no vote, and is not taken for one that was heard', async () => {
  const { agent, tell } = await anAgent()
  const request = { version: orderVersion, cluster: 'warehouse', asking: 'warehouse-1', epoch: 9 }
  await expect(tell(words.leaseVote.route, request)).rejects.toMatchObject({
    code: 'REGENT_WRONG_MEMBER',
    message: expect.stringContaining(
      'warehouse-1 of cluster warehouse asks for a vote; this is shop-0 of cluster shop',
    ) as string,
  })
  expect(agent.observation().peers).toEqual([])
  expect(await tell(words.leaseVote.route, { ...request, cluster: 'shop', asking: 'shop-1' })).toMatchObject({
    granted: true,
  })
})
