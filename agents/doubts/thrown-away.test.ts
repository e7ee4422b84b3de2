import { expect, it } from 'vitest'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { gtids } from '#topology/testing.ts'
import type { Parts } from '../instance/parts.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { noticeThrownAway } from './thrown-away.ts'
import { passAsReplica } from '../testing-passes.ts'

const held = (last: number) => parseGtidSet(gtids('shop-1', last))

async function replicaSeenWith(last: number): Promise<Parts> {
  const parts = await testParts(new ScriptedServer(aServerState()))
  await noticeThrownAway(parts, held(last))
  return parts
}

it('A replica that suddenly holds less is forgetful, and says what was thrown away', async () => {
  const parts = await replicaSeenWith(9)
  expect(parts.file.current.forgetful).toBe(false)
  await noticeThrownAway(parts, held(5))
  expect(parts.file.current.forgetful).toBe(true)
  expect(parts.doubts.thrownAway).toBe(held(9).subtract(held(5)).toString())
  expect(String(parts.notices.list.at(-1)?.sentence)).toMatch(
    /^4 transactions that it held .* were thrown away by another hand/,
  )
})

it('What the primary held was said before that, and is asked for again', async () => {
  const parts = await replicaSeenWith(9)
  settable(parts).told.catchUpTo = held(3).toString()
  await noticeThrownAway(parts, held(5))
  expect(parts).toMatchObject({ told: { catchUpTo: null }, doubts: { timesForgotten: 1 } })
})

it('One that holds more or the same has forgotten nothing', async () => {
  const parts = await replicaSeenWith(5)
  await noticeThrownAway(parts, held(5))
  await noticeThrownAway(parts, held(9))
  expect(parts.file.current.forgetful).toBe(false)
})

it('Each pass of a replica looks', async () => {
  const server = new ScriptedServer(
    aServerState({ readOnly: true, superReadOnly: true, executed: held(5).toString(), received: held(9).toString() }),
  )
  const parts = await testParts(server)
  await passAsReplica(parts, replicaOfEpoch3, server.state)
  expect(parts.file.current.forgetful).toBe(false)
  server.state = { ...server.state, received: held(5).toString() }
  await passAsReplica(parts, replicaOfEpoch3, server.state)
  expect(parts.file.current.forgetful).toBe(true)
})
