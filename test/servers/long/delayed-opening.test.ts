import { afterAll, beforeAll, expect, it } from 'vitest'
import { primaryOfEpoch3, testParts, ScriptedServer, aServerState } from '#agents/testing.ts'
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
  await source.server.open()
  await replica.server.pointTo(source.sourceFor(replica))
  await replica.server.startApplier()
  await replica.server.startReceiver()
  await until(async () => (await replica.server.readState()).channel?.ioRunning === 'yes', 'the replica follows')
})

afterAll(async () => {
  await source.remove()
  await replica.remove()
})

it('A primary that was elected with an hour of delay and unapplied writes applies them all, and opens within seconds', async () => {
  const by = await replica.session('regent')
  for (const statement of [
    'stop replica sql_thread',
    'change replication source to source_delay = 3600',
    'start replica sql_thread',
  ])
    await queryWithin(by, statement, 5_000)
  const writer = await source.session('admin')
  await queryWithin(writer, 'create table app.counted (id int primary key)', 5_000)
  for (let id = 0; id < 20; id += 1) await queryWithin(writer, `insert into app.counted values (${id})`, 5_000)
  const elected = (await source.server.readHolds()).executed
  await replica.server.waitReceived(elected, 5_000)
  // The source goes on: nothing of what it writes now may come here.
  await replica.server.stopReceiver()
  await queryWithin(writer, 'insert into app.counted values (100)', 5_000)
  const seen = (await replica.server.readState()).channel
  expect(seen).toMatchObject({
    sqlRunning: true,
    changedOptions: [{ name: 'SOURCE_DELAY', seen: '3600', wanted: '0' }],
  })
  expect(seen?.backlogTransactions).toBe(21)
  const parts = {
    ...(await testParts(new ScriptedServer(aServerState()))),
    server: replica.server,
    process: replica.process,
  }
  const assignment = { ...primaryOfEpoch3, acks: 0, counted: [], elected }
  const isOpen = async () => {
    await passAsPrimary(parts, assignment, await replica.server.readState())
    return parts.course.converged.done
  }
  await until(isOpen, 'it opens', 5_000)
  expect(await replica.server.readState()).toMatchObject({ readOnly: false, offlineMode: false, executed: elected })
  expect(parts.notices.list.map(({ sentence }) => String(sentence))).toEqual([
    'SOURCE_DELAY is 0 again (by another hand it was 3600)',
  ])
})
