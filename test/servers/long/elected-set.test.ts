import { saying } from '#test/support/said-as-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { primaryOfEpoch3, testParts, ScriptedServer, aServerState } from '#agents/testing.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { BareInstance, until } from '#test/support/bare-instance.ts'
import { queryWithin } from '#test/support/sql-session.ts'
import { passAsPrimary } from '#agents/testing-passes.ts'

let source: BareInstance
let replica: BareInstance

beforeAll(async () => {
  source = await BareInstance.create('bare-0')
  replica = await BareInstance.create('bare-1')
  await Promise.all([source.process.initialise(), replica.process.initialise()])
  await Promise.all([source.start(), replica.start()])
  await source.server.setReadOnly('accounts')
  await source.server.setGates([replica.name])
  await source.server.setSemiSyncSource(1)
  await source.server.open()
  await replica.server.setSemiSyncReplica(true)
  await replica.server.pointTo(source.sourceFor(replica))
  await replica.server.startApplier()
  await replica.server.startReceiver()
  await until(async () => (await replica.server.readState()).channel?.semiSync === true, 'the replica acknowledges')
})

afterAll(async () => {
  await source.remove()
  await replica.remove()
})

/** What the agent of the replica has, on its real server. */
async function partsOfReplica(): Promise<Parts> {
  const parts = await testParts(new ScriptedServer(aServerState()))
  return { ...parts, server: replica.server, process: replica.process }
}

it('A primary whose received, unapplied writes were thrown away by hand after its election stays closed, and names what it lacks', async () => {
  const by = await replica.session('regent')
  const hand = (statement: string) => queryWithin(by, statement, 5_000)
  await hand('stop replica sql_thread')
  await hand('change replication source to source_delay = 3600')
  await hand('start replica sql_thread')
  const writer = await source.session('admin')
  await queryWithin(writer, 'create table app.counted (id int primary key)', 5_000)
  for (let id = 0; id < 20; id += 1) await queryWithin(writer, `insert into app.counted values (${id})`, 5_000)
  const elected = (await source.server.readHolds()).executed
  await source.process.kill()
  await replica.server.stopReceiver()
  expect((await replica.server.readHolds()).executed).not.toBe(elected)
  const parts = await partsOfReplica()
  const assignment = { ...primaryOfEpoch3, acks: 0, counted: [], elected }
  const pass = async () => passAsPrimary(parts, assignment, await replica.server.readState())
  await hand('stop replica sql_thread')
  await hand('change replication source to source_delay = 0')
  await hand('start replica sql_thread')
  for (let passes = 0; passes < 5; passes += 1) await pass()
  expect(await replica.server.readState()).toMatchObject({ offlineMode: true, superReadOnly: true })
  expect(parts.doubts.lacksElected).not.toBe('')
  expect(parts.course.converged).toMatchObject({
    done: false,
    sentence: saying(/^stays closed: it lacks 21 transactions of the set that it was elected for/),
  })
})
