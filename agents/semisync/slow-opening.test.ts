import { expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import type { Lease } from '../guard/lease.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { passAsPrimary } from '../testing-passes.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
const pause = async () => new Promise((resolve) => setTimeout(resolve, 20))

it('A primary tells for how long its opening has waited, of this epoch alone, and no more once it is open', async () => {
  const server = new ScriptedServer(
    aServerState({ ...closed, channel: { ioRunning: 'no', sqlRunning: true }, received: gtids('shop-0', 109) }),
  )
  const { waitExecuted } = server
  server.waitExecuted = async () => false
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  const observations = new ObservationBuilder(parts, { question: null } as Partial<Lease> as Lease, '0.1.0')
  const pass = async (assignment = primaryOfEpoch3) => passAsPrimary(parts, assignment, server.state)
  expect(observations.build().openingMs).toBeUndefined()
  await pass()
  await pause()
  await pass()
  const waited = observations.build().openingMs ?? 0
  expect(waited).toBeGreaterThanOrEqual(15)
  const ofEpoch4 = { ...primaryOfEpoch3, epoch: 4, revision: 11 }
  await parts.file.update({ promise: 4, revision: 11, assignment: ofEpoch4 })
  expect(observations.build().openingMs).toBeUndefined()
  await pause()
  const beganMs = parts.world.clock.monotonicMs()
  await pass(ofEpoch4)
  const again = observations.build().openingMs
  expect(again).toBeDefined()
  expect(again).toBeLessThanOrEqual(parts.world.clock.monotonicMs() - beganMs)
  server.waitExecuted = waitExecuted
  await pass(ofEpoch4)
  expect(server.calls).toContain('open')
  expect(observations.build().openingMs).toBeUndefined()
})
