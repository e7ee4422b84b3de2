import { expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { EmptyOrder } from '#failover/protocol/order.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { beginEmptying } from './emptying.ts'

const order: EmptyOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: primaryOfEpoch3.member,
  epoch: 3,
  revision: 10,
  of: 'shop-1',
  gtids: gtids('shop-1', 3),
}

async function primary(executed = gtids('shop-0', 100)) {
  const server = new ScriptedServer(aServerState({ executed }))
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  return { parts, server }
}

const isOver = ({ jobs }: Awaited<ReturnType<typeof primary>>['parts']) => expect.poll(() => jobs.empties).toBe(false)

it('A primary writes an empty transaction with each GTID that it lacks, and says so', async () => {
  const { parts, server } = await primary(`${gtids('shop-0', 100)},${uuidOf('shop-1')}:2`)
  beginEmptying(parts, order)
  // It comes twice.
  beginEmptying(parts, order)
  await isOver(parts)
  expect(server.calls).toEqual([`empty ${uuidOf('shop-1')}:1`, `empty ${uuidOf('shop-1')}:3`])
  expect(String(parts.notices.list.at(-1)?.sentence)).toBe(
    `2 empty transactions took the place of what changed no data on shop-1 (${order.gtids})`,
  )
})

it('A primary that has all of them writes nothing, and says nothing', async () => {
  const { parts, server } = await primary(`${gtids('shop-0', 100)},${order.gtids}`)
  beginEmptying(parts, order)
  await isOver(parts)
  expect(server.calls).toEqual([])
  expect(parts.notices.list).toEqual([])
})

it('A primary that promises another epoch in the midst of that writes no more: what it holds must not grow', async () => {
  const { parts, server } = await primary()
  server.writeEmpty = async (gtid) => {
    server.calls.push(`empty ${gtid}`)
    await parts.file.update({ promise: 4 })
  }
  beginEmptying(parts, order)
  await isOver(parts)
  expect(server.calls).toEqual([`empty ${uuidOf('shop-1')}:1`])
})
