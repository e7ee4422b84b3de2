import { expect, it } from 'vitest'
import { Converger } from '../converge/converger.ts'
import { Lease } from '../guard/lease.ts'
import { OrderDesk } from './desk.ts'
import { Seeding } from './reseeding.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
  watchesOf,
} from '../testing.ts'
import { BackUp } from '../backup/back-up.ts'
import { HoleCloser } from '../backup/archive/hole-closer.ts'
import { StoreReader } from '../backup/store-reader.ts'
import { Rehearsing } from '../backup/rehearsal/rehearsing.ts'
import { Restoring } from '../backup/rebuild/restoring.ts'
import { changeLife, settable } from '../testing-known.ts'

async function agent() {
  const process = new ScriptedProcess()
  const parts = await testParts(new ScriptedServer(aServerState()), { process })
  const converger = new Converger(parts, () => undefined)
  return {
    parts,
    process,
    converger,
    desk: new OrderDesk(
      { parts, converger, seeding: new Seeding(parts, converger), restoring: new Restoring(parts, converger, null) },
      {
        parts,
        lease: new Lease(parts, () => undefined),
        watches: watchesOf(parts),
        backUp: new BackUp(parts, null),
        rehearsing: new Rehearsing(parts, null),
        storeReader: new StoreReader(parts, null),
        holeCloser: new HoleCloser(parts, null),
        heardOfLeaving: () => undefined,
      },
    ),
  }
}

it.each([
  [true, 'running'],
  [false, 'dead'],
])(
  'A primary that its own agent killed (%s) to start it again is started whatever it is told meanwhile',
  async (byItsAgent, state) => {
    const { parts, process, desk } = await agent()
    await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3, mayHaveTail: true })
    process.state = 'dead'
    settable(parts).told.mayRestart = byItsAgent
    changeLife(parts, { isRestarted: byItsAgent })
    await desk.obey('assign', { ...primaryOfEpoch3, member: 'shop-0@volume-0', revision: 11 })
    expect(process.state).toBe(state)
  },
)

it('Orders are carried out one after the other: an older one that comes while a newer one is carried out is refused', async () => {
  const { parts, desk } = await agent()
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  const order = (revision: number) => desk.obey('assign', { ...primaryOfEpoch3, member: 'shop-0@volume-0', revision })
  const [newer, older] = await Promise.allSettled([order(12), order(11)])
  // Before anything was done for the older one, and not when that is written.
  const message = 'assign of revision 11: shop-0@volume-0 acted on revision 12'
  expect([newer.status, older]).toMatchObject(['fulfilled', { reason: { code: 'REGENT_STALE_ORDER', message } }])
  expect(parts.file.current.revision).toBe(12)
})

it('Whoever is promoted says what is what, also after its GTIDs were reset; a primary that goes on does not', async () => {
  for (const [before, kept] of [
    [{ ...replicaOfEpoch3, epoch: 2 }, false],
    [primaryOfEpoch3, true],
  ] as const) {
    const { parts, desk } = await agent()
    await parts.file.update({ promise: 3, revision: 10, assignment: before, gtidsReset: true })
    await desk.obey('assign', { ...primaryOfEpoch3, member: 'shop-0@volume-0', revision: 11 })
    expect(parts.file.current.gtidsReset).toBe(kept)
  }
})

it.each([
  ['alone where no manager was heard for long', false, 'running'],
  ['not by its agent where a manager has just said that it leads', true, 'dead'],
])('A primary whose server ended is started again %s', async (_, takesWord, state) => {
  const { parts, process, desk, converger } = await agent()
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3, mayHaveTail: true })
  process.state = 'dead'
  settable(parts).told.trustsAssignment = true
  settable(parts).contact.managerHeardAtMs -= parts.timings.restartAloneMs + 1
  const { version, cluster, epoch, revision } = primaryOfEpoch3
  if (takesWord) await desk.hear('word', { version, cluster, member: 'shop-0@volume-0', epoch, revision })
  await converger.pass()
  expect(process.state).toBe(state)
})

it('A primary hears with the word of a manager who is forgetful', async () => {
  const { parts, desk } = await agent()
  const { version, cluster, epoch, revision } = primaryOfEpoch3
  const forgetful = { 'shop-1': 'run-1.0' }
  await desk.hear('word', { version, cluster, member: 'shop-0@volume-0', epoch, revision, forgetful })
  expect(parts.told.heardForgetful).toEqual(forgetful)
})
